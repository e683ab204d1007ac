package wire

import (
	"slices"
	"sync"
	"time"
)

const (
	// lanes is how many flights are on their way at a time while all is well. An attempt that finds a lane free goes at once
	// and alone, so that a lone caller pays nothing; what comes while all are taken shares the next flight. Two, so that one is
	// written while the other is read.
	lanes = 2
	// maxFlight bounds how many attempts share a pipeline, and so for how long the first waits for the answer to the last.
	maxFlight = 128
	// stall is after how long a flight no longer counts as one of the lanes: a connection that hangs keeps what is on it
	// waiting, but nobody else for longer than this, or twice this if it took off while others waited.
	stall = 10 * time.Millisecond
)

// coalescer has the attempts of concurrent callers share pipelines to one server. While the server answers there is no timer in
// anybody's way: a flight that lands takes along what has gathered meanwhile.
type coalescer struct {
	fly  func([]*Attempt) // runs one pipeline, and returns when all in it have landed
	most int              // flights at a time, those that stall included

	mu      sync.Mutex // guards what follows; no I/O under it
	waiting []*Attempt // in the order of their coming; nobody waits while a lane is free
	flights []*flight  // on their way
	idle    []*flight  // to be used again, at most as many as there are lanes
	watch   *time.Timer
	watched bool // the watch runs, as it does while somebody waits
	sweeper *time.Timer
	sweeps  bool // the sweeper runs, as it does while flights idle
	closed  bool // no flight idles any more
}

func newCoalescer(most int, fly func([]*Attempt)) *coalescer {
	c := &coalescer{fly: fly, most: max(most, 1)}
	c.watch = time.AfterFunc(stall, c.lookAround)
	c.watch.Stop()
	c.sweeper = time.AfterFunc(idleness, c.sweep)
	c.sweeper.Stop()
	return c
}

// send has an attempt take off, now or with the next flight.
func (c *coalescer) send(a *Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, a)
	c.fillLanesLocked()
}

// withdraw takes back an attempt that has not taken off, and reports whether it was in time.
func (c *coalescer) withdraw(a *Attempt) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, a)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.watchLocked()
	return true
}

// fillLanesLocked has those who wait take off as far as there are lanes, and watches the flights if there are not.
func (c *coalescer) fillLanesLocked() {
	for len(c.waiting) > 0 && c.laneLocked() {
		f := c.flightLocked()
		c.loadLocked(f)
		f.off <- struct{}{}
	}
	c.watchLocked()
}

// laneLocked reports whether one more flight may take off.
func (c *coalescer) laneLocked() bool {
	busy := 0
	for _, f := range c.flights {
		if !f.stalled {
			busy++
		}
	}
	return busy < lanes && len(c.flights) < c.most
}

// loadLocked has a flight take off with the first of those who wait.
func (c *coalescer) loadLocked(f *flight) {
	n := min(len(c.waiting), maxFlight)
	f.load = append(f.load, c.waiting[:n]...)
	c.waiting = slices.Delete(c.waiting, 0, n)
	f.since = time.Now()
	c.flights = append(c.flights, f)
}

// watchLocked keeps the watch running while somebody waits, and only then.
func (c *coalescer) watchLocked() {
	waits := len(c.waiting) > 0
	if waits && !c.watched {
		c.watch.Reset(stall)
	} else if !waits && c.watched {
		c.watch.Stop()
	}
	c.watched = waits
}

// lookAround takes the lanes away from flights that stall.
func (c *coalescer) lookAround() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, f := range c.flights {
		f.stalled = f.stalled || now.Sub(f.since) >= stall
	}
	c.watched = false
	c.fillLanesLocked()
}
