package rlock

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/internal/watchdog"
	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

// renewalBatch is how many renewals share a pipeline at most.
const renewalBatch = 100

// A tenure is what the watchdog looks after.
var _ watchdog.Hold = (*tenure)(nil)

// Alarm is when the clock next ends something: a level at its MaxHold, or the tenure at its deadline.
func (t *tenure) Alarm() time.Duration {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	next := t.until()
	for _, h := range t.levels {
		if h.maxAlarm != 0 && h.over == nil {
			next = min(next, h.maxAlarm)
		}
	}
	return next
}

// Ring ends what is over by now.
func (t *tenure) Ring(now time.Duration) {
	t.seat.mu.Lock()
	tell := t.checkLocked(now)
	t.seat.mu.Unlock()
	tell.apart()
}

// Over reports whether the watchdog can forget the tenure.
func (t *tenure) Over() bool {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	return t.ended != nil
}

// Node is the server that holds the lock. There is one.
func (t *tenure) Node() string { return "" }

// renew sends one batch of renewals and returns. Each attempt has a time-out of its own, well below the lease, so that a
// server that is silent leaves time to try again before the deadline.
func (c *Client) renew(batch []watchdog.Hold, done func(int, watchdog.Result)) {
	calls, leases := make([]lua.Call, len(batch)), make([]time.Duration, len(batch))
	for i, h := range batch {
		calls[i], leases[i] = h.(*tenure).renewal(c.set.now()) //nolint:forcetypeassert // the watchdog is given tenures alone
	}
	sent := c.wire.SendBatch(context.Background(), calls)
	c.chores.start(func() {
		if !c.isInTime(sent) {
			for i := range batch {
				done(i, watchdog.Failed) // to be tried again soon; of several answers the watchdog takes the first
			}
		}
		select {
		case <-sent.Done(): // a late answer is an answer
		case <-c.end.draining:
			return
		}
		for i, h := range batch {
			done(i, h.(*tenure).renewed(sent.Reply(i), sent.Sent, leases[i])) //nolint:forcetypeassert // as above
		}
	})
}

// isInTime waits for the replies of a batch, for a time well below the lease.
func (c *Client) isInTime(sent *wire.Batch) bool {
	timer := time.NewTimer(min(c.answer, c.set.watchdog/6))
	defer timer.Stop()
	select {
	case <-sent.Done():
		return true
	case <-timer.C:
		return false
	}
}

// renewal is the command that renews the tenure now, and the lease that it proves; 0 only looks whether the hold is there,
// so that the holder of a fixed lease learns of a deleted lock.
func (t *tenure) renewal(now time.Duration) (lua.Call, time.Duration) {
	t.seat.mu.Lock()
	lease := max(t.renewalLeaseLocked(now), 0)
	t.seat.mu.Unlock()
	if lease == 0 {
		return lua.Look(t.lock.keys.wire.hash, t.field.text, t.named(0)), 0
	}
	return lua.Renew(t.lock.keys.wire.hash, t.field.text, t.named(lease)), lease
}

// renewed takes the answer to a renewal. One that failed proves nothing; that the field is gone is a loss at once, unless
// the tenure has ended meanwhile by itself.
func (t *tenure) renewed(r wire.Reply, sent, lease time.Duration) watchdog.Result {
	if r.Outcome != wire.Done {
		return watchdog.Failed
	}
	held, err := lua.DecodeRenew(r.Value)
	if err != nil {
		return watchdog.Failed
	}
	if !held {
		t.seat.mu.Lock()
		tell := t.endLocked(errGone)
		t.seat.mu.Unlock()
		tell.apart()
		return watchdog.Gone
	}
	t.seat.mu.Lock()
	tell := t.answeredLocked(sent, lease)
	t.seat.mu.Unlock()
	tell.apart()
	return watchdog.Renewed
}
