package rlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rlock-go/rlock/internal/wire"
)

// never stands for no alarm at all.
const never = maxLease

// rest sleeps for d, or until the signal, or until the owner's own tenure arrives or an offer is made. It reports whether it was
// the signal; an error is the end of the wait.
func (a *acquisition) rest(
	ctx context.Context, d time.Duration, signal, arrival, offered <-chan struct{},
) (signalled bool, err error) {
	wake, complain := a.alarms(d)
	timer := a.c.timers.start(min(wake, complain))
	defer a.c.timers.stop(timer)
	for {
		select {
		case <-signal:
			return true, nil
		case <-arrival:
			return false, nil
		case <-offered:
			return false, nil
		case <-ctx.Done():
			return false, a.interrupted(ctx)
		case <-a.c.end.closing:
			return false, a.interrupted(ctx)
		case <-timer.C:
		}
		if wake <= complain {
			return false, a.interrupted(ctx)
		}
		a.warned = true
		a.reportWait(ctx, a.c.set.now()-a.started)
		wake, complain = wake-complain, never
		timer.Reset(wake)
	}
}

// alarms are how long from now the sleep may last at most, and when a wait as long as this one is worth a line.
func (a *acquisition) alarms(d time.Duration) (wake, complain time.Duration) {
	now := a.c.set.now()
	wake, complain = d, never
	if a.limit > 0 {
		wake = min(wake, max(a.limit-now, 0))
	}
	if !a.warned {
		complain = max(a.started+a.c.set.watchdog-now, 0)
	}
	return wake, complain
}

// interrupted is the error that ends the wait now, or nil. While Redis does not answer it is the transport's: nobody knows
// whether the lock is taken.
func (a *acquisition) interrupted(ctx context.Context) error {
	if err := a.cancelled(ctx); err != nil {
		return err
	}
	if a.limit == 0 || a.c.set.now() < a.limit {
		return nil
	}
	if err := a.unreachable(); err != nil {
		return err
	}
	return ErrNotAcquired
}

// cancelled is the error of an acquire whose context ended or whose Client is closing, or nil.
func (a *acquisition) cancelled(ctx context.Context) error {
	if a.c.isClosing() {
		return ErrClosed
	}
	if ctx.Err() == nil {
		return nil
	}
	if err := a.unreachable(); err != nil {
		return fmt.Errorf("%w: %w", endOf(ctx), err)
	}
	if end := endOf(ctx); errors.Is(end, ErrLost) { // the context of a lost hold: that is the news, whoever has the lock now
		return end
	}
	return fmt.Errorf("%w: %w", ErrNotAcquired, endOf(ctx))
}

// unreachable is why Redis is known not to answer for this lock, or nil. What the head of the queue found out counts for
// those behind it, if it is fresh and began after this acquire heard from Redis itself.
func (a *acquisition) unreachable() error {
	if a.failure != nil {
		return a.failure
	}
	if out := a.outage(a.c.answer + time.Second); out.Err != nil {
		return out.Err
	}
	return a.silence()
}

// silence is why an acquire knows nothing at all: Redis was asked about this lock, by itself or by others in its line, and
// nobody there has had an answer since it began, although a healthy server would have given one. "Not acquired" would be
// taken for "somebody else has it", and the work be dropped that nobody does.
func (a *acquisition) silence() error {
	asked, answered := a.board().Word()
	if silent := a.c.set.now() - asked; asked > 0 && answered < a.started && silent >= wire.Grace {
		return wire.NoAnswer(silent)
	}
	return nil
}

// outage is what others of the process know of a Redis that does not answer for this lock, no older than that.
func (a *acquisition) outage(age time.Duration) wire.Outage {
	out := a.c.wire.Outage(a.lock.keys.hash)
	if out.Err == nil || out.Since < a.heard || a.c.set.now()-out.Latest > age {
		return wire.Outage{}
	}
	return out
}

// pause is the back-off after an attempt that was not answered, or the error that ends the acquire: the caller's patience
// or the retry budget is over.
func (a *acquisition) pause(ctx context.Context, got answer) error {
	if a.failure == nil {
		a.failing = got.since
	}
	if a.failure == nil || !errors.Is(got.err, os.ErrDeadlineExceeded) { // a time-out says less than what came before it
		a.failure = got.err
	}
	d := a.backoff.Next()
	if a.c.set.now()+d >= a.failing+a.c.set.retryBudget {
		return a.failure
	}
	_, err := a.rest(ctx, d, nil, nil, nil)
	return err
}

// inherit starts the retry budget of a new head where the outage began, if the head before it has just seen one: each waiter
// has one budget, not one more for every head before it.
func (a *acquisition) inherit() {
	if out := a.outage(time.Second); out.Err != nil {
		a.failing, a.failure = max(a.started, out.Since), out.Err
	}
}

// spent: the retry budget is over before anything was asked. One reply that was lost says nothing of Redis yet: where the budget
// is over with it, or there is none, it must not fail the whole line, which has as long again to ask.
func (a *acquisition) spent() bool {
	budget := a.c.set.retryBudget
	if budget <= a.c.answer {
		budget = 2 * a.c.answer
	}
	return a.failure != nil && a.c.set.now() >= a.failing+budget
}
