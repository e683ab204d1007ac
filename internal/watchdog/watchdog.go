// Package watchdog is the clockwork that keeps holds alive: it says when which
// holds are to be renewed, and when a hold's time has come, and knows nothing of
// Redis or of what a renewal is.
//
// What it promises:
//
//  1. A hold is due one period after Add, and from then on one period after the
//     start of each renewal that succeeded.
//  2. A renewal that failed is tried again, sooner and then less often, until it
//     succeeds or the hold says that it is over. No failure ends a hold here.
//  3. Alarms ring on time whatever becomes of renewals. An answer that is late,
//     or never comes, delays nothing: no alarm, not even of the same hold, and
//     no other batch. Nor does it come between the others of its own batch and
//     their renewal for long: what failed is retried apart from what did not,
//     and in small batches while little fails.
//  4. After Remove has returned no renewal of that hold is started, and answers
//     that are still on their way change nothing.
//  5. Nothing is left of a hold that was removed, is gone or is over, and no
//     goroutine after Close.
//
// One goroutine and one timer serve all holds, by a heap of due times. An Add
// whose time comes no sooner than the goroutine would look anyway does not wake
// it, so taking and giving back a free lock costs a push and a pop.
package watchdog

import (
	"sync"
	"time"

	"github.com/petermattis/goid"
)

// Config holds what a Watchdog needs to know. Clock, Period and Renew are
// required, and New panics without them: they come from code, not from users.
type Config struct {
	Clock  func() time.Duration // the present instant, never going back
	Period time.Duration        // the usual time between renewals, a third of the lease
	Batch  int                  // most holds in one call of Renew; 100 if zero
	Retry  time.Duration        // first pause after Failed, doubling up to Period; a tenth of Period if zero
	Renew  Renew
}

// Watchdog looks after the holds of one client.
type Watchdog struct {
	cfg  Config
	wake chan struct{} // size 1: the goroutine has to look before its timer
	stop chan struct{} // closed by Close
	done chan struct{} // closed when the goroutine has ended

	// open are the batches being filled; the goroutine's own.
	open map[lane]*batch

	// mu guards all that follows, the changing fields of every Entry and the
	// stage of every batch. Foreign code (Hold, Renew, Clock) never runs under
	// it, so that it may call back, and so that nobody's lock order matters.
	mu      sync.Mutex
	queue   queue
	failing int           // how many entries in the queue failed when last tried
	armed   time.Duration // when the goroutine looks next by itself, or did when it is awake
	turns   int           // how often the goroutine has looked
	self    int64         // the goroutine's id
	handed  sync.Cond     // a call of Renew has returned
	started bool
	closed  bool
}

// New returns a watchdog with nothing to do and no goroutine.
func New(cfg Config) *Watchdog {
	if cfg.Clock == nil || cfg.Renew == nil || cfg.Period <= 0 {
		panic("watchdog: Config needs Clock, Renew and a positive Period")
	}
	if cfg.Batch <= 0 {
		cfg.Batch = 100
	}
	if cfg.Retry <= 0 {
		cfg.Retry = max(cfg.Period/10, time.Millisecond)
	}
	w := &Watchdog{
		cfg:  cfg,
		wake: make(chan struct{}, 1),
		stop: make(chan struct{}),
		done: make(chan struct{}),
		open: make(map[lane]*batch),
	}
	w.handed.L = &w.mu
	return w
}

// Add takes h into care. Its first renewal is due one period from now (the
// configured Period if period is not positive, none at all if it is Never), and
// all is set when Add returns. After Close it does nothing and returns an entry
// like one that was removed. The first Add starts the goroutine.
func (w *Watchdog) Add(h Hold, period time.Duration) *Entry {
	if period <= 0 {
		period = w.cfg.Period
	}
	e := &Entry{hold: h, period: period, alarm: h.Alarm(), due: later(w.cfg.Clock(), period), index: forgotten}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return e
	}
	if !w.started {
		w.started = true // its first look is at once, so armed is right as it is
		go w.run()
	}
	w.placeLocked(e)
	return e
}

// Remove takes the hold of e out of care. Once it has returned, no call of Renew
// with this hold begins or is under way, save one whose done was called for it
// already; what such a call has set going elsewhere it cannot stop. Removing
// again, or after the hold was forgotten for another reason, does nothing.
//
// So Remove waits while Renew is being called with a batch that has this hold
// in it. It must not be called with a lock held that Renew takes. Within Renew
// itself it does not wait.
func (w *Watchdog) Remove(e *Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropLocked(e)
	// The id is asked for only in the rare case that there is something to wait for.
	for e.flight != nil && e.flight.stage == handing && goid.Get() != w.self {
		w.handed.Wait()
	}
	e.flight = nil
}

// Refresh asks the hold of e for its alarm, which may have moved to earlier
// since it was last asked.
func (w *Watchdog) Refresh(e *Entry) {
	alarm := e.hold.Alarm()
	w.mu.Lock()
	defer w.mu.Unlock()
	e.refreshed++
	if e.index != forgotten && alarm < e.alarm {
		e.alarm = alarm
		w.placeLocked(e)
	}
}

// Close forgets all holds without a word to them, stops the goroutine and waits
// for it, which takes no longer than the call of Renew or of a Hold's method
// that is under way; from within one it must not be called. Answers to batches
// still in flight may come at any time later and are ignored. Closing again, or
// without ever having used it, is fine.
func (w *Watchdog) Close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.stop)
	}
	started := w.started
	w.mu.Unlock()
	if started {
		<-w.done
	}
}

// Len returns how many holds are in care.
func (w *Watchdog) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue.slots)
}
