package rlock

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

// tellCount sends one command that sets the count in Redis to remain (0 releases the lock) and waits for its answer. While
// the lease that the fixed levels need is not confirmed, the command asks for that too. The caller has the seat's turn.
func (t *tenure) tellCount(ctx context.Context, remain int) (r wire.Reply, sent time.Duration) {
	t.seat.mu.Lock()
	raise := t.raiseLocked(t.c.set.now())
	t.seat.mu.Unlock()
	attempt := t.c.wire.Send(ctx, lua.Release(t.lock.keys.wire.hash, t.lock.keys.wire.channel, t.field.text, remain, raise))
	r = t.c.awaitAnyway(attempt)
	if outcome, known := releaseOf(r); known && outcome != lua.NotHeld {
		t.seat.mu.Lock()
		tell := t.answeredLocked(attempt.Sent, raise)
		t.seat.mu.Unlock()
		tell.now()
	}
	return r, attempt.Sent
}

// releaseOf is what a release came to, if it is known. An answer that no release gives is as good as none: it proves neither that
// the field was there nor that it was not.
func releaseOf(r wire.Reply) (outcome lua.ReleaseOutcome, known bool) {
	if r.Outcome != wire.Done {
		return 0, false
	}
	outcome, err := lua.DecodeRelease(r.Value)
	return outcome, err == nil
}

// recount sets the count in Redis to the number of levels after a nested command whose outcome its caller did not learn,
// and goes on until that is confirmed or the tenure is over. A release names the count that is to remain, so it serves in
// both directions. doubt is the attempt to wait for first; one that was refused changed nothing, and one that found no field is
// the server's word on the tenure, which counts although its caller has left.
func (t *tenure) recount(ctx context.Context, doubt *wire.Attempt) {
	if doubt != nil {
		select {
		case <-doubt.Done():
		case <-t.c.end.draining:
			return
		}
		if outcome, _ := outcomeOf(doubt); outcome == lua.Lost {
			t.end(errGone)
		}
		if refused(doubt) {
			return
		}
	}
	var pauses wire.Backoff
	for !t.recounted(ctx) {
		select {
		case <-time.After(pauses.Next()):
		case <-t.c.end.draining:
			return
		}
	}
}

func (t *tenure) recounted(ctx context.Context) bool {
	if !t.seat.turn.take(t.c.answer, nil, t.c.end.draining) {
		return false
	}
	defer t.seat.turn.pass()
	t.seat.mu.Lock()
	over, remain := t.ended != nil, len(t.levels)
	t.seat.mu.Unlock()
	if over {
		return true
	}
	r, _ := t.tellCount(ctx, remain)
	outcome, known := releaseOf(r)
	if outcome == lua.NotHeld {
		t.end(errGone)
	}
	return known
}
