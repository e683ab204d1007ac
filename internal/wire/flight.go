package wire

import (
	"slices"
	"time"
)

// idleness is how long a flight that has nothing to carry is kept.
const idleness = time.Second

// flight is a goroutine that carries one load after the other. It lives on for a while when it has nothing to carry: a new
// goroutine's stack would have to grow at each command, which costs more than all else that is done for one here.
type flight struct {
	off     chan struct{} // size 1: it is to take off
	load    []*Attempt
	since   time.Time // when the load took off
	stalled bool
}

// flightLocked is one that idles, or a new one.
func (c *coalescer) flightLocked() *flight {
	if n := len(c.idle); n > 0 {
		f := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return f
	}
	f := &flight{off: make(chan struct{}, 1)}
	go c.carry(f)
	return f
}

// carry is the goroutine of a flight. A flight that lands goes on with what has gathered.
func (c *coalescer) carry(f *flight) {
	for range f.off {
		for on := true; on; on = c.turnRound(f) {
			c.fly(f.load)
		}
	}
}

// turnRound gives a flight that has landed its next load, unless nobody waits, or other flights have taken its lane.
func (c *coalescer) turnRound(f *flight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.landedLocked(f)
	on := len(c.waiting) > 0 && c.laneLocked()
	if on {
		c.loadLocked(f)
	} else {
		c.restLocked(f)
	}
	c.watchLocked()
	return on
}

func (c *coalescer) landedLocked(f *flight) {
	c.flights = slices.DeleteFunc(c.flights, func(other *flight) bool { return other == f })
	clear(f.load) // it keeps no attempt alive
	f.load, f.stalled = f.load[:0], false
}

// restLocked has a flight idle, or end if enough of them do.
func (c *coalescer) restLocked(f *flight) {
	if c.closed || len(c.idle) >= lanes {
		close(f.off)
		return
	}
	c.idle = append(c.idle, f)
	c.sweepLaterLocked(idleness)
}

func (c *coalescer) sweepLaterLocked(d time.Duration) {
	if !c.sweeps {
		c.sweeps = true
		c.sweeper.Reset(d)
	}
}

// sweep ends the flights that idle, unless one took off lately.
func (c *coalescer) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweeps = false
	for _, f := range c.idle {
		if used := time.Since(f.since); used < idleness && !c.closed {
			c.sweepLaterLocked(idleness - used)
			return
		}
	}
	for _, f := range c.idle {
		close(f.off)
	}
	c.idle = nil
}

// close ends the flights, those under way when they have landed. Nothing is sent after it.
func (c *coalescer) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.sweep()
	c.sweeper.Stop()
}
