package rlock

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rlock-go/rlock/internal/gate"
	"github.com/rlock-go/rlock/pubsub"
)

const (
	// subscribePatience is how long the head of the queue waits for the server to confirm its subscription before it looks
	// all the same, and polls until the confirmation comes.
	subscribePatience = 100 * time.Millisecond
	// pollEvery is how often a waiter looks who cannot be woken.
	pollEvery = 250 * time.Millisecond
	// fresh is how old the newest look may be at most when a Wait ends with "taken".
	fresh = 250 * time.Millisecond
)

// queue waits for the turn among the waiters of this process, then for the lock. Only the head of the queue talks to
// Redis; the others cost nothing. Whoever leaves passes the turn on, and the next head looks at once, so that a wake-up
// which the one before consumed is never lost.
func (a *acquisition) queue(ctx context.Context) answer {
	ticket := a.c.gate.Join(a.lock.keys.hash)
	defer ticket.Leave()
	a.board = ticket.Board()
	select {
	case <-ticket.Turn(): // nobody is in line: the lock may well be free, so look before subscribing
		if got := a.try(ctx); got.verdict != taken {
			return got
		}
	default:
		if got := a.standInLine(ctx, ticket); got.verdict != taken {
			return got
		}
		a.inherit()
	}
	sub := a.c.hub.Subscribe(a.lock.keys.channel)
	defer sub.Close()
	return a.lead(ctx, sub)
}

// standInLine sleeps until the ticket is at the head. Any other answer than taken ends the acquire: the end of the wait, or
// what came of following another goroutine of this owner, who got in, as nested, or of the last look.
func (a *acquisition) standInLine(ctx context.Context, ticket *gate.Ticket) answer {
	for {
		woken, err := a.rest(ctx, a.untilLastLook(), ticket.Turn(), a.seat.arrivals())
		if err != nil {
			return answer{verdict: failed, err: err}
		}
		if woken == bySignal {
			return answer{verdict: taken}
		}
		if got := a.try(ctx); got.verdict != taken { // the owner is in, or the last look is due
			return got
		}
	}
}

// lead is the loop of the head: subscribed and confirmed, look, then sleep until something may have changed.
func (a *acquisition) lead(ctx context.Context, sub *pubsub.Subscription) answer {
	if !sub.Confirmed() && !sub.Polling() {
		_, err := a.rest(ctx, subscribePatience, sub.Wake(), a.seat.arrivals())
		if err != nil && a.cancelled(ctx) != nil {
			return answer{verdict: failed, err: err}
		} // else look at least once, also when Wait ends meanwhile
	}
	for {
		got := a.try(ctx)
		if got.verdict != taken {
			return got
		}
		if _, err := a.rest(ctx, a.nap(sub, got.ttl), sub.Wake(), a.seat.arrivals()); err != nil {
			return answer{verdict: failed, err: err}
		}
	}
}

// nap is how long to sleep without a message: until the holder's lease ends, for nobody announces that; until the fallback
// look, for a message may have been lost without a trace; and a poll's pause while messages cannot arrive at all.
func (a *acquisition) nap(sub *pubsub.Subscription, ttl time.Duration) time.Duration {
	d := jitter(a.c.set.look)
	if !sub.Confirmed() {
		d = min(d, jitter(pollEvery))
	}
	if ttl >= 0 {
		d = min(d, ttl+time.Millisecond)
	}
	return min(d, a.untilLastLook())
}

// untilLastLook is how long to sleep at most because the Wait is nearly over. Redis may have vanished without a trace while
// the line slept, and a line that has not asked lately cannot say "taken". A Wait that is as short as that needs no look more.
func (a *acquisition) untilLastLook() time.Duration {
	due := a.limit - fresh
	if due <= a.started {
		return never
	}
	if _, answered := a.board.Word(); answered >= due {
		return never
	}
	return max(due-a.c.set.now(), 0) + time.Millisecond // a timer may be early by the other clock
}

// jitter spreads the waiters of many processes: by a fifth at most.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/5+1)
}
