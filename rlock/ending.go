package rlock

import (
	"context"
	"maps"
	"slices"
	"time"
)

// end closes the tenure for that reason, unless it has ended already.
func (t *tenure) end(cause error) {
	t.seat.mu.Lock()
	tell := t.endLocked(cause)
	t.seat.mu.Unlock()
	tell.now()
}

// over is why the tenure has ended; nil while it goes on.
func (t *tenure) over() error {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	return t.ended
}

// endLocked returns whom to tell once the mutex is released.
func (t *tenure) endLocked(cause error) telling {
	if t.ended != nil {
		return telling{}
	}
	t.ended, t.endedAt = cause, t.c.set.now()
	t.freeAt = t.maxUntilLocked()
	tell := telling{t: t, over: true, holds: t.everyHoldLocked(), cause: cause}
	t.viewers = nil
	return tell
}

// checkLocked ends what the clock says is over: levels that reached their MaxHold, the tenure at its deadline.
func (t *tenure) checkLocked(now time.Duration) telling {
	if t.ended != nil {
		return telling{}
	}
	var over []*Hold
	for _, h := range t.levels {
		if h.maxAlarm != 0 && now >= h.maxAlarm && h.over == nil {
			h.over = ErrMaxHold
			over = append(over, h)
		}
	}
	switch {
	case len(over) > 0 && t.allOverLocked():
		return t.endLocked(ErrMaxHold)
	case now >= t.until():
		return t.endLocked(t.deadlineCauseLocked(now))
	default:
		return telling{t: t, holds: over, cause: ErrMaxHold}
	}
}

// allOverLocked: every level that is left has reached its MaxHold.
func (t *tenure) allOverLocked() bool {
	return !slices.ContainsFunc(t.levels, func(h *Hold) bool { return h.over == nil })
}

func (t *tenure) deadlineCauseLocked(now time.Duration) error {
	if t.renewedLocked() || t.raiseLocked(now) > 0 {
		return errUnconfirmed
	}
	return errLeaseOver
}

// tell ends the contexts without ending the tenure.
func (t *tenure) tell(cause error) {
	t.seat.mu.Lock()
	t.told = cause
	tell := telling{holds: t.everyHoldLocked(), cause: cause}
	t.seat.mu.Unlock()
	tell.now()
}

func (t *tenure) everyHoldLocked() []*Hold {
	return slices.AppendSeq(slices.Clone(t.levels), maps.Values(t.viewers))
}

// telling is the news that is due once the mutex is released: to cancel a context runs the code of others.
type telling struct {
	t     *tenure
	over  bool // the tenure ended
	holds []*Hold
	cause error
}

func (n telling) now() {
	for _, h := range n.holds {
		h.cancelContext(n.cause)
	}
	if n.over {
		n.t.c.table.vacate(n.t)
		if n.cause != ErrReleased { //nolint:errorlint // that very one: a release wakes whom it concerns by itself
			n.t.c.hub.Poke(n.t.lock.keys.channel, n.t.lock.keys.hash)
		}
		n.t.c.report(n.t, n.cause)
		n.t.forgetInTime(n.cause)
	}
}

// apart is now in a goroutine of its own. Contexts of callers may be of a kind of their own, and slow: no other hold waits for
// that.
func (n telling) apart() {
	if (len(n.holds) > 0 || n.over) && !n.t.c.chores.start(n.now) {
		n.now()
	}
}

// forgetInTime sees to what outlives the end by the clock: a lock that MaxHold ended is freed when MaxHold has passed, for
// inner levels may have raised its lease beyond that. And a tenure of a goroutine whose fixed lease ran out is dropped a
// lease of the watchdog later: ported code may rely on the lease alone and never unlock. Until then its Unlock is told.
func (t *tenure) forgetInTime(cause error) {
	if cause == errLeaseOver && t.standsTooLong() { //nolint:errorlint // that very one
		t.disown(context.Background(), cause)
	}
	switch {
	case cause == ErrMaxHold: //nolint:errorlint // that very one
		t.doLater(t.freeAt-t.c.set.now(), func() { t.disown(context.Background(), cause) })
	case cause != ErrReleased && t.seat.key.owner.IsGoroutine(): //nolint:errorlint // that very one
		if until, fixed := t.fixedAlone(); fixed || cause == errLeaseOver { //nolint:errorlint // that very one
			t.doLater(max(until-t.c.set.now(), 0)+t.c.set.watchdog, func() { t.abandon(context.Background()) })
		}
	}
}

// standsTooLong: a longer lease was asked for than anybody was granted, by a nested acquire that was called off for instance, and
// nobody shortens it.
func (t *tenure) standsTooLong() bool {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	return t.stands > t.proven+time.Millisecond
}

// fixedAlone reports whether every level was taken with a fixed lease, and until when the longest goes: a hold that was taken
// away before would have ended then by itself, and its owner may rely on that.
func (t *tenure) fixedAlone() (until time.Duration, fixed bool) {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	return t.fixedUntilLocked(), !slices.ContainsFunc(t.levels, func(h *Hold) bool { return h.fixedUntil == 0 })
}

// doLater runs f after d, once, unless the tenure is given back or the Client makes an end before.
func (t *tenure) doLater(d time.Duration, f func()) {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	if t.seat.tenure == t && t.late == nil && !t.c.isDraining() {
		t.late = time.AfterFunc(d, f)
	}
}

// doNothingLater stops what doLater has set up.
func (t *tenure) doNothingLater() {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	if t.late != nil {
		t.late.Stop()
	}
}
