package rlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Hold is one level of an owner's possession of a lock: what one Acquire took and one Release gives back. It may be used
// from any goroutine.
type Hold struct {
	t      *tenure
	parent context.Context //nolint:containedctx // the caller's, from which Context derives on demand
	handle bool            // given back by Release; else by Unlock
	shown  *Hold           // a Hold made by Held: the newest level at that time

	// The seat's mutex guards what follows.
	fixedUntil time.Duration // when the fixed lease is over; 0: the level is renewed
	maxUntil   time.Duration // when MaxHold is over; 0: no limit
	maxAlarm   time.Duration // when the holder is told so: a margin earlier
	claimed    bool          // somebody gives it back, or has
	claimedAt  time.Duration
	cause      error           // why its context ended, once it is claimed: what ends the tenure later is not its affair
	over       error           // it ended by itself while the tenure goes on
	ctx        context.Context //nolint:containedctx // what Context gives out
	cancel     context.CancelCauseFunc
}

// Release gives the level back. It does not depend on the state of ctx, and it is bounded as Unlock is, also when Redis
// hangs. The answers are those of Unlock; a second Release is ErrNotHeld, and so is Release on what Held shows. It
// never touches another's hold.
func (h *Hold) Release(ctx context.Context) error {
	if ctx == nil {
		return h.t.lock.fail("release", errNilContext)
	}
	if !h.handle {
		return h.t.lock.fail("release", ErrNotHeld)
	}
	return h.t.lock.fail("release", h.giveBack(ctx))
}

// Held compares the clock now: true means that nobody else can hold the lock at this moment, as far as the leases reach.
// It is right also when timers are late, after the process was stopped or the machine suspended.
func (h *Hold) Held() bool {
	h.t.seat.mu.Lock()
	defer h.t.seat.mu.Unlock()
	now := h.t.c.set.now()
	return h.t.aliveLocked() && h.over == nil && !h.claimed && (h.maxAlarm == 0 || now < h.maxAlarm)
}

// ValidUntil is when the hold is over unless it is renewed or extended before, by this machine's wall clock; of one that is over
// it is not ahead. To ask whether it is over, use Held, which no step of that clock confuses.
func (h *Hold) ValidUntil() time.Time {
	h.t.seat.mu.Lock()
	defer h.t.seat.mu.Unlock()
	now, until := h.t.c.set.now(), h.t.until()
	if h.t.ended != nil {
		until = min(until, h.t.endedAt)
	}
	if h.claimed {
		until = min(until, h.claimedAt)
	}
	if alarm := h.alarmLocked(); alarm != 0 {
		until = min(until, alarm)
	}
	return time.Now().Add(until - now)
}

// alarmLocked is when MaxHold ends the hold, and for one that Held shows, when it ends the last level; 0 for never.
func (h *Hold) alarmLocked() (alarm time.Duration) {
	if h.shown == nil {
		return h.maxAlarm
	}
	for _, level := range h.t.levels {
		if level.maxAlarm == 0 {
			return 0
		}
		alarm = max(alarm, level.maxAlarm)
	}
	return alarm
}

// Token is the fencing token of the hold. Only fenced locks have one, and there is no kind of lock yet that is fenced: it is
// always 0.
func (h *Hold) Token() int64 { return 0 }

var errExtendRenewed = errors.New("only a fixed lease can be extended; this hold is renewed by the watchdog")

// Extend starts a fixed lease anew: the hold is over lease from now, if that is later than it is now. It neither adds to
// what is left nor shortens it. On a hold without Lease it is an error; a hold that is over is ErrLost. It waits for Redis
// as long as ctx and the retry budget allow; after a transport error the lease may or may not have been extended, and
// ValidUntil says what is proven.
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	if ctx == nil {
		return h.t.lock.fail("extend", errNilContext)
	}
	if err := judgeLease("lease", lease); err != nil {
		return h.t.lock.fail("extend", err)
	}
	level := h
	if h.shown != nil {
		level = h.shown
	}
	return h.t.lock.fail("extend", level.extend(ctx, lease.Truncate(time.Millisecond)))
}

// renewed: the watchdog is to keep this level.
func (h *Hold) renewed() bool { return h.fixedUntil == 0 && h.over == nil }

// need is for how long from now the level wants to be held.
func (h *Hold) need(now time.Duration) time.Duration {
	switch {
	case h.over != nil:
		return 0
	case h.fixedUntil != 0:
		return h.fixedUntil - now
	case h.maxUntil != 0:
		return h.maxUntil - now
	default:
		return maxLease
	}
}

// String identifies the hold in logs.
func (h *Hold) String() string { return fmt.Sprintf("hold of %q by %s", h.t.lock.name, h.t.field.name) }
