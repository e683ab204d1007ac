package watchdog

import "time"

// stage is how far a batch has come.
type stage uint8

const (
	filling stage = iota // an entry can still be withdrawn
	handing              // Renew is being called: Remove has to wait
	flying               // Renew has returned, answers may be outstanding
)

// batch is one call of Renew. Entries point at the batch they wait for, so an
// answer counts only if its entry still waits for this very batch: not after it
// was removed, and not a second time.
type batch struct {
	dog     *Watchdog
	entries []*Entry      // the goroutine's own while filling, fixed from handing on
	start   time.Duration // when Renew was called; fixed likewise
	spread  float64       // the round's
	limit   int           // how many entries it takes
	stage   stage         // guarded by dog.mu
}

// lane says which entries may share a batch: those of one node that failed as
// often in a row. The answer to a batch comes as late as that to its slowest
// renewal, and a renewal that breaks the connection ends it for all: whoever
// meets such company once must not meet it again each time, nor bring others
// into it.
type lane struct {
	node  string
	fails uint8
}

// crumbs is into how many small batches what failed is divided at most. A node
// that is down fails every hold, and must not get a batch from each.
const crumbs = 32

// limitLocked is the size of a batch in a lane. While little fails, what failed is
// retried one by one or nearly so, and the one that is to blame soon fails alone.
func (w *Watchdog) limitLocked(l lane) int {
	if l.fails == 0 {
		return w.cfg.Batch
	}
	return min(max(w.failing/crumbs, 1), w.cfg.Batch)
}

// board puts e, which is due, into the open batch of its lane. Called by the
// goroutine with mu held, for the sake of e.flight.
func (w *Watchdog) board(e *Entry, l lane, spread float64) {
	b := w.open[l]
	if b == nil {
		b = &batch{dog: w, spread: spread, limit: w.limitLocked(l)}
		w.open[l] = b
	}
	b.entries = append(b.entries, e)
	e.flight = b
}

// handOver calls Renew with what is left of b after removals. The call runs
// without mu; the stage before and after it is what Remove goes by.
func (w *Watchdog) handOver(b *batch) {
	if holds := b.depart(w.cfg.Clock()); len(holds) > 0 {
		w.cfg.Renew(holds, b.answer)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b.stage = flying
	w.handed.Broadcast()
}

// depart drops the entries that were removed since they boarded. Its locked
// section is the point at which a removal is either in time or has to wait, and
// after Close nothing departs.
func (b *batch) depart(now time.Duration) []Hold {
	b.dog.mu.Lock()
	defer b.dog.mu.Unlock()
	b.stage, b.start = handing, now
	if b.dog.closed {
		return nil
	}
	stay, holds := b.entries[:0], make([]Hold, 0, len(b.entries))
	for _, e := range b.entries {
		if e.index != forgotten {
			stay, holds = append(stay, e), append(holds, e.hold)
		}
	}
	clear(b.entries[len(stay):])
	b.entries = stay
	return holds
}

// answer is the done of this batch's Renew. It asks the hold nothing, so it may
// be called under any lock of the caller's: an alarm that a success has moved is
// found out about when the old one comes.
func (b *batch) answer(i int, r Result) {
	w, e := b.dog, b.entries[i]
	now := w.cfg.Clock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.flight != b || e.index == forgotten {
		return
	}
	e.flight = nil
	switch r {
	case Gone:
		w.dropLocked(e)
		return
	case Renewed:
		if e.fails > 0 {
			w.failing--
		}
		e.fails, e.due = 0, later(b.start, e.period)
	default:
		if e.fails == 0 {
			w.failing++
		}
		e.due = later(now, w.pause(e, now, b.spread))
		e.fails = min(e.fails, 62) + 1 // no way round to 0
	}
	w.placeLocked(e)
}

// pause is how long to wait after a failure: Retry, doubled with each one in a
// row up to the period, but no more than half of what is left until the alarm,
// so that the last attempts are not spent waiting. A quarter of it is left to
// chance, lest many clients come back to a sick server in step.
func (w *Watchdog) pause(e *Entry, now time.Duration, spread float64) time.Duration {
	limit := min(w.cfg.Period, e.period, max((e.alarm-now)/2, w.cfg.Retry))
	p := limit
	if w.cfg.Retry < limit>>e.fails { // so the shift below cannot overflow
		p = w.cfg.Retry << e.fails
	}
	return max(p-time.Duration(spread*float64(p)/4), 1)
}
