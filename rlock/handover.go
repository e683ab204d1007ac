package rlock

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

const (
	// inRow is how many times in a row a lock stays within the process by hand-over, and inRowTime how long. Then it is
	// released like any other, and the waiters of other processes get their turn.
	inRow     = 16
	inRowTime = 20 * time.Millisecond
)

// row counts the hand-overs since the process took the lock from outside.
type row struct {
	count int
	since time.Duration
}

func (r row) next() row { return row{r.count + 1, r.since} }

// waiter is who sleeps in a line, as who gives the lock back sees it.
type waiter struct {
	seat    *seat
	ended   <-chan struct{} // closed when it is not wanted any more
	lease   time.Duration
	offer   offer         // made by who picks the waiter
	offered chan struct{} // closed when it is made
}

// offer is a hand-over under way. To the waiter it is an acquire like one of its own.
type offer struct {
	field   field
	attempt *wire.Attempt
	row     row
}

// handOver gives the lock back by moving it to the waiter of this process whose turn it is. It reports false if there is none
// that is parked: one that looks for itself might find the field that it was named with, and then the hand-over's answer
// would take it for lost. The waiter's seat has its turn taken meanwhile, for the same reason. If no answer comes the waiter
// abandons its field, as after any acquire in doubt, and this field is released by itself: so both are settled.
func (g *giving) handOver(ctx context.Context) (r wire.Reply, sent time.Duration, offered bool) {
	t := g.t
	if !g.last {
		return r, 0, false
	}
	w, ok := t.c.gate.Pick(t.lock.keys.hash, t.mayHandOver).(*waiter)
	if !ok {
		return r, 0, false
	}
	to, keys := t.c.newField(w.seat.key.owner), t.lock.keys.wire
	attempt := t.c.wire.Send(ctx, lua.HandOver(keys.hash, keys.channel, t.field.text, to.text, w.lease))
	w.offer = offer{field: to, attempt: attempt, row: t.row.next()}
	close(w.offered)
	return t.c.awaitAnyway(attempt), attempt.Sent, true
}

// mayHandOver takes the turn of the waiter's seat, if no command of its owner is under way, and unless its owner has a tenure: a
// lost one, for instance, that has to be given back first. The gate is locked; nobody locks it who has a seat's mutex.
func (t *tenure) mayHandOver(parked any) bool {
	w := parked.(*waiter) //nolint:forcetypeassert // nobody else parks
	inTime := t.row.count < inRow && t.c.set.now()-t.row.since < inRowTime
	if !inTime || t.c.isClosing() || isClosed(w.ended) || !w.seat.turn.try() {
		return false
	}
	if w.seat.current() != nil {
		w.seat.turn.pass()
		return false
	}
	return true
}

// sleep is rest in the line, where who gives the lock back may hand it over. The answer is taken when it is time to look, and
// failed at the end of the wait. When the signal came the waiter is parked still, until lookUp or the next sleep.
func (a *acquisition) sleep(ctx context.Context, d time.Duration, signal <-chan struct{}) answer {
	if a.parked == nil {
		a.parked = &waiter{seat: a.seat, ended: ctx.Done(), lease: a.req.grant(a.c.set.watchdog), offered: make(chan struct{})}
		a.ticket.Park(a.parked)
	}
	signalled, err := a.rest(ctx, d, signal, a.seat.arrivals(), a.parked.offered)
	if signalled {
		return answer{verdict: taken}
	}
	if got := a.getUp(ctx); got.verdict != taken || err == nil {
		return got
	}
	return answer{verdict: failed, err: err}
}

// getUp ends the parking, and takes what was offered meanwhile.
func (a *acquisition) getUp(ctx context.Context) answer {
	w := a.parked
	a.parked = nil
	if w == nil || !a.ticket.Unpark() {
		return answer{verdict: taken}
	}
	<-w.offered
	return a.accept(ctx, w.offer, w.lease)
}

// lookUp is try for who may be parked.
func (a *acquisition) lookUp(ctx context.Context) answer {
	if got := a.getUp(ctx); got.verdict != taken {
		return got
	}
	return a.try(ctx)
}

// accept takes an offer for an attempt of its own, with the turn that was taken for it.
func (a *acquisition) accept(ctx context.Context, o offer, lease time.Duration) answer {
	got := a.hear(ctx, o, lease)
	a.seat.turn.pass()
	if got.verdict == unanswered {
		if err := a.pause(ctx, got); err != nil {
			return answer{verdict: failed, err: err}
		}
		got.verdict = taken // another look may fare better
	}
	return got
}

// hear waits for the outcome of an offer.
func (a *acquisition) hear(ctx context.Context, o offer, lease time.Duration) answer {
	a.field, a.row = o.field, o.row
	got := a.await(ctx, o.attempt, lease-margin(lease))
	switch {
	case got.verdict == granted:
		return a.enter(ctx, o.attempt, lease)
	case got.verdict == failed && isClosed(o.attempt.Done()): // what that means for the waiter, its own look says
		got = answer{verdict: taken}
	}
	a.leaveBehind(ctx, o.attempt, lease)
	return got
}
