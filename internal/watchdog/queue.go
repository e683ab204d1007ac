package watchdog

import "time"

// queue is a heap of entries by the instant at which they want to be looked at.
// It is written out, because container/heap calls through an interface on the
// path of every lock. Each entry knows its index, so any of them can be moved or
// removed; all of it happens under the watchdog's mu.
type queue struct {
	slots []slot
}

// slot keeps the instant beside the entry, so that comparing reads one array.
type slot struct {
	at    time.Duration
	entry *Entry
}

// small is the capacity below which giving memory back is not worth the copying.
const small = 256

// place puts e at the instant at, whether or not it was in the queue before.
func (q *queue) place(e *Entry, at time.Duration) {
	if e.index == forgotten {
		q.slots = append(q.slots, slot{})
		q.set(len(q.slots)-1, slot{entry: e})
	}
	i := int(e.index)
	q.slots[i].at = at
	q.fix(i)
}

// remove takes e out and marks it as forgotten; if it was, nothing happens.
func (q *queue) remove(e *Entry) {
	if e.index == forgotten {
		return
	}
	i, last := int(e.index), len(q.slots)-1
	e.index = forgotten
	moved := q.slots[last]
	q.slots[last] = slot{}
	q.slots = q.slots[:last]
	if i < last {
		q.set(i, moved)
		q.fix(i)
	}
	q.shrink()
}

// fix restores the order around slot i, the only one that may be out of place.
func (q *queue) fix(i int) {
	if !q.up(i) {
		q.down(i)
	}
}

func (q *queue) up(i int) (moved bool) {
	s := q.slots[i]
	for i > 0 {
		parent := (i - 1) / 2
		if q.slots[parent].at <= s.at {
			break
		}
		q.set(i, q.slots[parent])
		i, moved = parent, true
	}
	q.set(i, s)
	return moved
}

func (q *queue) down(i int) {
	s := q.slots[i]
	for {
		child := 2*i + 1
		if child >= len(q.slots) {
			break
		}
		if right := child + 1; right < len(q.slots) && q.slots[right].at < q.slots[child].at {
			child = right
		}
		if s.at <= q.slots[child].at {
			break
		}
		q.set(i, q.slots[child])
		i = child
	}
	q.set(i, s)
}

func (q *queue) set(i int, s slot) {
	q.slots[i] = s
	s.entry.index = int32(i) //nolint:gosec // no memory holds so many entries
}

// shrink gives memory back after a crowd has gone; halving at a quarter full
// keeps the copying rare however the number goes up and down.
func (q *queue) shrink() {
	if c := cap(q.slots); c > small && len(q.slots) <= c/4 {
		q.slots = append(make([]slot, 0, c/2), q.slots...)
	}
}
