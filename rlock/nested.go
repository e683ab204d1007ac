package rlock

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/lua"
)

// nested enters once more into the owner's own tenure. It never queues: the lock is the owner's already.
func (a *acquisition) nested(ctx context.Context, t *tenure) answer {
	want, lease, err := t.nextLevel(a.lock, &a.req)
	if err != nil {
		return a.outside(ctx, err)
	}
	attempt := a.c.wire.Send(ctx, lua.Acquire(a.lock.keys.wire.hash, t.field.text, want, t.named(lease), lua.Orphans{}))
	got := a.await(ctx, attempt, never) // its own lease may be short: the tenure's deadline judges
	if got.verdict == granted {
		return a.deepen(ctx, t, attempt.Sent, lease)
	}
	a.c.wire.Withdraw(attempt)
	if outcome, known := outcomeOf(attempt); outcome == lua.Lost {
		t.end(errGone)
	} else if !known || outcome == lua.Granted {
		t.c.chores.start(func() { t.recount(ctx, attempt) })
	}
	if got.err == errGone { //nolint:errorlint // that very one: no loss if the tenure was given back meanwhile
		return a.outside(ctx, t.over())
	}
	return got
}

// nextLevel names the count and the lease of one level more.
func (t *tenure) nextLevel(l *Lock, r *request) (want int, lease time.Duration, err error) {
	t.seat.mu.Lock()
	tell := t.checkLocked(t.c.set.now())
	want, lease, err = len(t.levels)+1, t.nestedLeaseLocked(r), t.ended
	if err == nil && l.nonReentrant {
		err = ErrReentry
	}
	if err == nil {
		t.askLocked(lease)
	}
	t.seat.mu.Unlock()
	tell.now()
	return want, lease, err
}

// deepen adds the level that a confirmed nested acquire proves. If the tenure ended while the command was under way, its
// holder has been told so, and no answer can take that back.
func (a *acquisition) deepen(ctx context.Context, t *tenure, sent, lease time.Duration) answer {
	var h *Hold
	t.seat.mu.Lock()
	tell := t.answeredLocked(sent, lease)
	ended := t.ended
	if ended == nil {
		h = t.pushLocked(ctx, &a.req, sent)
	}
	t.seat.mu.Unlock()
	tell.now()
	if ended != nil {
		return a.outside(ctx, ended)
	}
	a.c.dog.Refresh(t.entry) // a MaxHold of this level may be the first thing to end
	return answer{verdict: granted, hold: h}
}

// outside is the answer when there is nothing to nest in. A tenure that was given back, by a goroutine that did not get the
// owner's turn in time, leaves the way free for a fresh one.
func (a *acquisition) outside(ctx context.Context, reason error) answer {
	if reason == ErrReleased { //nolint:errorlint // that very one
		return a.fresh(ctx)
	}
	return answer{verdict: failed, err: reason}
}

// startsAfresh: the fixed lease of an owner taken from the goroutine is over, or would be if it had not been taken away before, so
// the next acquire begins anew, as in Redisson. Every other lost tenure has to be given back first: its code may still be under way.
func (t *tenure) startsAfresh() bool {
	t.seat.mu.Lock()
	tell := t.checkLocked(t.c.set.now())
	cause := t.ended
	t.seat.mu.Unlock()
	tell.now()
	if cause == nil || !t.seat.key.owner.IsGoroutine() {
		return false
	}
	until, fixed := t.fixedAlone()
	return cause == errLeaseOver || fixed && t.c.set.now() >= until //nolint:errorlint // that very one
}
