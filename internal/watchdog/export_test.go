package watchdog

import "unsafe"

// EntrySize is what one hold in care costs, without spare room in the queue.
const EntrySize = unsafe.Sizeof(Entry{}) + unsafe.Sizeof(slot{})

// Turns tells how often the goroutine has looked at the queue.
func (w *Watchdog) Turns() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turns
}

// Room is the capacity of the queue.
func (w *Watchdog) Room() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cap(w.queue.slots)
}

// Broken returns the index of the first slot that is out of order or whose entry
// does not know its place, the number of slots if the failing ones were counted
// wrong, or -1.
func (w *Watchdog) Broken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	failing := 0
	for i, s := range w.queue.slots {
		if s.entry.fails > 0 {
			failing++
		}
		if int(s.entry.index) != i || s.at != s.entry.next() || w.queue.slots[max(i-1, 0)/2].at > s.at {
			return i
		}
	}
	if failing != w.failing {
		return len(w.queue.slots)
	}
	return -1
}

// Forgotten reports that e is not in care.
func (w *Watchdog) Forgotten(e *Entry) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return e.index == forgotten && e.flight == nil
}
