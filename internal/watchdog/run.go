package watchdog

import (
	"math/rand/v2"
	"time"

	"github.com/petermattis/goid"
)

// glance is the longest that the goroutine sleeps while there is a hold. Timers
// stand still while a machine is suspended and the injected clock may not: after
// such a gap the holds whose time has passed are told within a glance, not when
// what was left of an old timer has run down. Looking at the head of the queue
// four times a second costs nothing that can be measured.
const glance = 250 * time.Millisecond

// insist is the pause before a hold is rung again that neither ended nor moved
// its alarm when it was rung: often enough to be prompt, and not a busy loop.
const insist = 5 * time.Millisecond

// run is the goroutine. Its timer is an ordinary one, and only Close ends it.
func (w *Watchdog) run() {
	defer close(w.done)
	defer w.forgetAll()
	w.mu.Lock()
	w.self = goid.Get()
	w.mu.Unlock()
	timer := time.NewTimer(glance)
	defer timer.Stop()
	for {
		if sleep, ok := w.turn(); ok {
			timer.Reset(sleep)
		} else {
			timer.Stop()
		}
		select {
		case <-w.stop:
			return
		case <-timer.C:
		case <-w.wake:
		}
	}
}

// round is what one turn goes by. slack is 0 until a renewal is due; from then on
// those that would follow shortly come along, so that holds which were taken one
// by one gather in batches and the goroutine wakes less often. spread is one draw
// for all, so that what fails together is retried together.
type round struct {
	now, slack time.Duration
	spread     float64
}

// turn looks at every hold whose time has come and sends what is due. It returns
// how long to sleep, or false to sleep until woken.
func (w *Watchdog) turn() (sleep time.Duration, ok bool) {
	r := round{now: w.cfg.Clock(), spread: rand.Float64()}
	for {
		e, refreshed := w.first(r)
		if e == nil {
			break
		}
		if w.look(e, refreshed, r) {
			r.slack = w.cfg.Period / 20
		}
	}
	for l, b := range w.open {
		delete(w.open, l)
		w.handOver(b)
	}
	return w.arm()
}

// first returns the head of the queue if it is to be looked at, and leaves it
// there: every look moves it to a later instant, so the next call gets another.
func (w *Watchdog) first(r round) (*Entry, uint16) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.queue.slots) == 0 {
		return nil, 0
	}
	head := w.queue.slots[0]
	if head.at <= r.now || head.entry.isDue(r) {
		return head.entry, head.entry.refreshed
	}
	return nil, 0
}

// look asks one hold how it is, rings it if its alarm has come, and puts it into
// a batch if it is due, which it reports. This is where the hold's methods run,
// unlocked; what they said is entered by settle.
func (w *Watchdog) look(e *Entry, refreshed uint16, r round) bool {
	over, alarm := e.hold.Over(), e.hold.Alarm()
	if !over && alarm <= r.now {
		e.hold.Ring(r.now)
		over, alarm = e.hold.Over(), e.hold.Alarm()
		if alarm <= r.now {
			alarm = later(r.now, insist)
		}
	}
	if over {
		w.forget(e)
		return false
	}
	node := e.hold.Node()
	l, due := w.settle(e, refreshed, alarm, node, r)
	if !due {
		return false
	}
	if b := w.open[l]; len(b.entries) >= b.limit {
		delete(w.open, l)
		w.handOver(b)
	}
	return true
}

// settle enters what look has learnt, unless e was removed meanwhile, and says
// into which lane e went if it is due. After a Refresh in between nobody knows
// which of the two answers is the newer one: the earlier alarm is right or makes
// for one look too many.
func (w *Watchdog) settle(e *Entry, refreshed uint16, alarm time.Duration, node string, r round) (l lane, due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.index == forgotten {
		return l, false
	}
	if e.refreshed != refreshed {
		alarm = min(alarm, e.alarm)
	}
	e.alarm = alarm
	if due = e.isDue(r); due {
		l = lane{node, e.fails}
		w.board(e, l, r.spread)
	}
	w.placeLocked(e)
	return l, due
}

// arm ends a turn: it decides how long to sleep and says so in armed, under the
// same lock, so that an Add either is seen here or sees what was decided. While
// awake, armed is still what the goroutine woke up for, which few undercut.
func (w *Watchdog) arm() (sleep time.Duration, ok bool) {
	now := w.cfg.Clock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns++
	if len(w.queue.slots) == 0 {
		w.armed = Never
		return 0, false
	}
	w.armed = min(w.queue.slots[0].at, later(now, glance))
	return max(w.armed-now, 0), true
}

// placeLocked puts e where it belongs in the queue and wakes the goroutine if it
// would sleep too long. Once is enough: armed is then what it was woken for.
func (w *Watchdog) placeLocked(e *Entry) {
	at := e.next()
	w.queue.place(e, at)
	if at >= w.armed {
		return
	}
	w.armed = at
	select {
	case w.wake <- struct{}{}:
	default: // a token is waiting already
	}
}

func (w *Watchdog) forget(e *Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropLocked(e)
	e.flight = nil
}

// dropLocked takes e out of the queue, if it is in there.
func (w *Watchdog) dropLocked(e *Entry) {
	if e.index != forgotten && e.fails > 0 {
		w.failing--
	}
	w.queue.remove(e)
}

func (w *Watchdog) forgetAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.queue.slots {
		s.entry.index, s.entry.flight = forgotten, nil
	}
	w.queue, w.failing = queue{}, 0
}
