package rlock

import "sync"

// chores are what a Client does in the background to settle what its callers left behind.
type chores struct {
	mu      sync.Mutex // guards sealed, and that nothing starts once it is true
	sealed  bool
	running sync.WaitGroup
}

// start runs f in the background. It reports false when the chores are sealed: the Client is closed then, and what f would
// have given back runs out by its lease.
func (c *chores) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return false
	}
	c.running.Go(f)
	return true
}

// seal lets nothing start any more and waits for what runs.
func (c *chores) seal() {
	c.mu.Lock()
	c.sealed = true
	c.mu.Unlock()
	c.running.Wait()
}
