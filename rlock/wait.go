package rlock

import (
	"context"
	"math/rand/v2"
	"time"

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
// Redis; the others cost nothing. Whoever leaves passes the turn on, and the next head looks at once if the one before may have
// consumed a wake-up, so that none is lost.
func (a *acquisition) queue(ctx context.Context) answer {
	a.ticket = a.c.gate.Join(a.lock.keys.hash)
	defer a.ticket.Leave()
	a.line = a.ticket.Board()
	select {
	case <-a.ticket.Turn(): // nobody is in line: the lock may well be free, so look before subscribing
		if got := a.lookUnlessKnown(ctx); got.verdict != taken {
			return got
		}
	default:
		if got := a.standInLine(ctx); got.verdict != taken {
			return got
		}
		a.inherit()
	}
	sub := a.c.hub.SubscribeTo(a.lock.keys.channel, a.lock.keys.hash)
	defer sub.Close()
	got := a.lead(ctx, sub)
	if got.verdict != granted {
		a.line.Owe()
	}
	return got
}

// lookUnlessKnown looks, unless the lock is known to be taken: it is held by this very process, whose holder hands it over, or
// releases it with a message, or pokes the head of the line when it learns of a loss.
func (a *acquisition) lookUnlessKnown(ctx context.Context) answer {
	known, ttl := a.c.heldHere(a.lock.keys.hash)
	hasty := a.limit > 0 && a.limit-a.started <= fresh // it has no last look
	if known <= 0 || a.failure != nil || a.line.Due() || hasty {
		return a.lookUp(ctx)
	}
	a.ttl = ttl
	return answer{verdict: taken, ttl: known}
}

// standInLine sleeps until the ticket is at the head. Any other answer than taken ends the acquire: the end of the wait, or
// what came of following another goroutine of this owner, who got in, as nested, of a hand-over, or of the last look.
func (a *acquisition) standInLine(ctx context.Context) answer {
	for {
		got := a.sleep(ctx, a.untilLastLook(), a.ticket.Turn())
		if got.verdict != taken || isClosed(a.ticket.Turn()) {
			return got
		}
		if got := a.lookUp(ctx); got.verdict != taken { // the owner is in, or the last look is due
			return got
		}
	}
}

// lead is the loop of the head: subscribed and confirmed, look, then sleep until something may have changed.
func (a *acquisition) lead(ctx context.Context, sub *pubsub.Subscription) answer {
	look := a.lookUnlessKnown
	if !sub.Confirmed() {
		look = a.lookUp // messages may have passed unheard, or be one with the confirmation
	}
	if !sub.Confirmed() && !sub.Polling() {
		got := a.sleep(ctx, subscribePatience, sub.Wake())
		if got.verdict == granted || got.verdict == failed && a.cancelled(ctx) != nil {
			return got
		} // else look at least once, also when Wait ends meanwhile
	}
	for got := look(ctx); ; got = a.lookUp(ctx) {
		if got.verdict != taken {
			return got
		}
		if got = a.sleep(ctx, a.nap(sub, got.ttl), sub.Wake()); got.verdict != taken {
			return got
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
	if _, answered := a.board().Word(); answered >= due {
		return never
	}
	return max(due-a.c.set.now(), 0) + time.Millisecond // a timer may be early by the other clock
}

// jitter spreads the waiters of many processes: by a fifth at most.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/5+1)
}
