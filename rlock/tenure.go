package rlock

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rlock-go/rlock/internal/watchdog"
)

// tenure is an owner's uninterrupted possession of a lock: from the grant of one field to its release or loss, whatever
// the number of levels in between.
//
// It lives until its deadline, the latest instant that one of its own confirmed commands proves: a stamp taken before the
// command was sent, plus the lease that it named, less the margin. The maximum counts and not the last, because no command
// shortens the lease in Redis: a shorter level that follows a longer one proves less, but takes nothing away.
//
// The seat's mutex guards all but the first block.
type tenure struct {
	c         *Client
	lock      *Lock
	seat      *seat
	field     field
	row       row             // of hand-overs that it is the newest of
	entry     *watchdog.Entry // set before the tenure has its seat
	deadline  atomic.Int64    // written under the mutex, read without it
	confirmed atomic.Int64    // when the newest command was sent that Redis has confirmed; likewise

	levels   []*Hold // in room as long as they are few; the outermost first; their number is the count that Redis is to have
	room     [2]*Hold
	viewers  viewers // shown by Held, with contexts that end with the tenure
	endedAt  time.Duration
	disowned bool          // its field is an orphan already
	ended    error         // why it is over; nil while it is held
	freeAt   time.Duration // when a tenure that MaxHold ended is to be free in Redis as well
	stands   time.Duration // until when the key may stand in Redis, by all leases that were asked for, confirmed or not
	late     *time.Timer   // what is due some time after the end
	told     error         // what its contexts were told already although it goes on: ErrClosed
	proven   time.Duration // until when the key stands in Redis at least, by the leases that were confirmed
}

// begin makes the tenure that a granted field proves and puts its first level into it, or reports false when the Client
// is closing. The caller has the seat's turn. The watchdog is armed when begin returns.
func (a *acquisition) begin(ctx context.Context, field field, sent, lease time.Duration) (*Hold, bool) {
	t := &tenure{c: a.c, lock: a.lock, seat: a.seat, field: field, row: a.row}
	t.confirmLocked(sent, lease) // nobody else has seen it yet
	t.stands = t.proven
	h := t.pushLocked(ctx, &a.req, sent)
	if !a.c.table.admit(t) {
		return nil, false
	}
	t.entry = a.c.dog.Add(t, a.c.period())
	a.seat.seatTenure(t)
	if a.c.isClosing() { // Close may have looked for holders before this one had its seat
		t.tell(ErrClosed)
	}
	if cause := t.over(); cause != nil { // a short lease: it ended before it had its seat, too soon to do anything later
		t.forgetInTime(cause)
	}
	return h, true
}

// pushLocked adds a level, taken by a command that was sent at that instant.
func (t *tenure) pushLocked(ctx context.Context, r *request, sent time.Duration) *Hold {
	h := &Hold{t: t, parent: ctx, handle: r.handle}
	if r.lease > 0 {
		h.fixedUntil = sent + r.lease
		t.stands = max(t.stands, h.fixedUntil) // it may be asked for later
	}
	if r.maxHold > 0 {
		h.maxUntil = sent + r.maxHold
		h.maxAlarm = h.maxUntil - margin(r.grant(t.c.set.watchdog))
	}
	if t.levels == nil {
		t.levels = t.room[:0]
	}
	t.levels = append(t.levels, h)
	return h
}

// aliveLocked compares the clock, so that it is right at any moment, however late a timer is.
func (t *tenure) aliveLocked() bool { return t.ended == nil && t.c.set.now() < t.until() }

// renewedLocked: at least one level was taken without a lease and goes on.
func (t *tenure) renewedLocked() bool { return slices.ContainsFunc(t.levels, (*Hold).renewed) }

func (t *tenure) newestVerbLocked() *Hold {
	for _, h := range slices.Backward(t.levels) {
		if !h.handle && !h.claimed {
			return h
		}
	}
	return nil
}

// removeLocked takes a level out.
func (t *tenure) removeLocked(h *Hold) {
	t.levels = slices.DeleteFunc(t.levels, func(other *Hold) bool { return other == h })
}

// detachLocked takes the tenure from its seat, and reports false if somebody has done so before. Whoever took it strikes it
// off the table.
func (t *tenure) detachLocked() bool {
	if t.seat.tenure != t {
		return false
	}
	t.seat.tenure = nil
	if t.late != nil {
		t.late.Stop()
	}
	return true
}
