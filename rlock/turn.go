package rlock

import (
	"slices"
	"sync"
	"time"
)

// turn is a mutex that one can stop waiting for. It goes in the order of asking.
type turn struct {
	mu      sync.Mutex // guards what follows
	taken   bool
	waiting []chan struct{} // each is closed when the turn is its owner's
}

// try takes the turn if nobody has it.
func (t *turn) try() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		return false
	}
	t.taken = true
	return true
}

// take waits for the turn until limit has passed or one of the channels is ready, and reports whether it got it.
func (t *turn) take(limit time.Duration, ended, closing <-chan struct{}) bool {
	mine := t.ask()
	if mine == nil {
		return true
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-mine:
		return true
	case <-timer.C:
	case <-ended:
	case <-closing:
	}
	return t.leave(mine)
}

// ask takes the turn if nobody has it, and else gets in line for it.
func (t *turn) ask() (mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		mine = make(chan struct{})
		t.waiting = append(t.waiting, mine)
	}
	t.taken = true
	return mine
}

// leave gives up waiting, and reports whether that came too late.
func (t *turn) leave(mine chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = slices.DeleteFunc(t.waiting, func(c chan struct{}) bool { return c == mine })
	return isClosed(mine)
}

// pass gives the turn to who has waited longest.
func (t *turn) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	close(t.waiting[0])
	t.waiting = slices.Delete(t.waiting, 0, 1)
}
