package rlock

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

// fresh asks for a tenure.
func (a *acquisition) fresh(ctx context.Context) answer {
	if a.field.name == "" {
		a.field = a.c.newField(a.seat.key.owner)
	}
	lease := a.req.grant(a.c.set.watchdog)
	call := lua.Acquire(a.lock.keys.wire.hash, a.field.text, 1, lease, a.c.orphans.of(a.lock.keys))
	attempt := a.c.wire.Send(ctx, call)
	a.row = row{since: attempt.Sent}
	got := a.await(ctx, attempt, lease-margin(lease))
	if got.verdict == granted {
		return a.enter(ctx, attempt, lease)
	}
	if got.verdict != taken {
		a.leaveBehind(ctx, attempt, lease)
	}
	return got
}

// enter makes the tenure that a grant proves, unless the Client was closed meanwhile, or the lock unlocked by force: then
// another look follows, at once and whatever the retry budget is, for Redis has answered.
func (a *acquisition) enter(ctx context.Context, attempt *wire.Attempt, lease time.Duration) answer {
	h, ok := a.begin(ctx, a.field, attempt.Sent, lease)
	if !ok {
		a.leaveBehind(ctx, attempt, lease)
		if a.c.isClosing() {
			return answer{verdict: failed, err: ErrClosed}
		}
		return a.fresh(ctx)
	}
	return answer{verdict: granted, hold: h}
}

// leaveBehind abandons the field of an attempt that was not answered in time: from here on, before the caller can return,
// a key held under it counts as free for this process, and the background gives it back. Only a definite refusal leaves
// nothing to give back. Either way the next attempt gets a field of its own.
func (a *acquisition) leaveBehind(ctx context.Context, attempt *wire.Attempt, lease time.Duration) {
	a.c.wire.Withdraw(attempt)
	if !refused(attempt) {
		a.c.abandon(ctx, &orphan{lock: a.lock, field: a.field, acquire: attempt, until: attempt.Sent + lease})
	}
	a.field = field{}
}

// await waits for the answer to an acquire. One that comes later than that after the command was sent is no grant: the lease
// that it proves is over for its holder by then.
func (a *acquisition) await(ctx context.Context, attempt *wire.Attempt, valid time.Duration) answer {
	a.board().Ask(attempt.Sent)
	timer := a.c.timers.start(min(a.patience(attempt.Sent), max(valid, time.Second))) // "taken" is an answer also when a grant would be none
	defer a.c.timers.stop(timer)
	select {
	case <-attempt.Done():
		got := a.read(attempt.Reply())
		got.since = attempt.Sent
		if got.verdict != unanswered {
			a.board().Answer(a.c.set.now())
		}
		if got.verdict == granted && a.c.set.now() >= attempt.Sent+valid {
			return a.unheard(ctx, attempt.Sent)
		}
		return got
	case <-timer.C:
		if a.c.wire.Withdraw(attempt); isClosed(attempt.Done()) { // or just answered
			return a.late(ctx, attempt)
		}
		a.c.wire.Silence(a.lock.keys.hash, attempt.Sent)
	case <-ctx.Done():
		a.unask(attempt)
	case <-a.c.end.closing:
		a.unask(attempt)
	}
	return a.unheard(ctx, attempt.Sent)
}

// unask has the word taken back that an answer is owed, when it comes, or if the attempt never takes off: who is called off will
// not be there to do it, and those behind would take it for silence.
func (a *acquisition) unask(attempt *wire.Attempt) {
	line, draining := a.line, a.c.end.draining // not the acquisition itself, which would cost every acquire an allocation
	if line == nil {
		return
	}
	a.c.chores.start(func() {
		select {
		case <-attempt.Done():
			if attempt.Reply().Outcome != wire.Unknown {
				line.Unask(attempt.Sent)
			}
		case <-draining:
		}
	})
}

// late is the answer when the outcome became known as patience ended: an attempt that never took off, for instance.
func (a *acquisition) late(ctx context.Context, attempt *wire.Attempt) answer {
	got := a.unheard(ctx, attempt.Sent)
	if err := attempt.Reply().Err; err != nil && got.verdict == unanswered {
		got.err = err
	}
	return got
}

// read sorts the reply of an acquire.
func (a *acquisition) read(r wire.Reply) answer {
	if r.Outcome != wire.Done {
		if r.Retry {
			return answer{verdict: unanswered, err: r.Err}
		}
		return answer{verdict: failed, err: a.c.closedOr(r.Err)}
	}
	got, err := lua.DecodeAcquire(r.Value)
	switch {
	case err != nil:
		return answer{verdict: failed, err: err}
	case got.Outcome == lua.Granted:
		return answer{verdict: granted}
	case got.Outcome == lua.Lost:
		return answer{verdict: failed, err: errGone}
	default:
		return answer{verdict: taken, ttl: got.TTL}
	}
}

// unheard is the answer when there was none since that instant: the end of the caller's patience, or a time-out that
// another attempt may follow.
func (a *acquisition) unheard(ctx context.Context, since time.Duration) answer {
	if err := a.cancelled(ctx); err != nil {
		return answer{verdict: failed, err: err}
	}
	now := a.c.set.now()
	got := answer{verdict: unanswered, err: wire.NoAnswer(now - since), since: since}
	if a.limit > 0 && now >= a.limit {
		got.verdict = failed
		if a.failure != nil {
			got.err = a.failure
		}
	}
	return got
}

// patience is how long one attempt may take from now on: as long as go-redis waits for an answer, but no longer than Wait
// and, once an attempt has failed, than the retry budget. It is never less than a healthy server needs, so that one which is
// asked in the last moment of a wait is not called unreachable.
func (a *acquisition) patience(now time.Duration) time.Duration {
	d := a.c.answer
	if a.limit > 0 {
		d = min(d, a.limit-now)
	}
	if a.failure != nil {
		d = min(d, a.failing+a.c.set.retryBudget-now)
	}
	return max(d, wire.Grace)
}

// refused: the acquire is known not to have been granted.
func refused(attempt *wire.Attempt) bool {
	outcome, known := outcomeOf(attempt)
	return known && outcome != lua.Granted
}

// outcomeOf is what an acquire came to, as far as that is known by now; 0 if Redis refused it.
func outcomeOf(attempt *wire.Attempt) (outcome lua.AcquireOutcome, known bool) {
	if !isClosed(attempt.Done()) {
		return 0, false
	}
	r := attempt.Reply()
	if r.Outcome != wire.Done {
		return 0, r.Outcome == wire.Refused
	}
	got, err := lua.DecodeAcquire(r.Value)
	return got.Outcome, err == nil
}
