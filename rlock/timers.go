package rlock

import (
	"sync"
	"time"
)

// timers are those that no one waits for just now. Every command has one, which nearly never rings; kept, they cost no
// allocation. They belong to the Client, as in a test's bubble of time they may not leave it.
type timers struct{ idle sync.Pool }

// start gives out a timer that rings after d. It goes back with stop.
func (t *timers) start(d time.Duration) *time.Timer {
	timer, ok := t.idle.Get().(*time.Timer)
	if !ok {
		return time.NewTimer(d)
	}
	timer.Reset(d)
	return timer
}

// stop takes a timer back, rung or not: a timer that was stopped rings no more, and has nothing in its channel.
func (t *timers) stop(timer *time.Timer) {
	timer.Stop()
	t.idle.Put(timer)
}
