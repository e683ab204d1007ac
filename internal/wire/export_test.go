package wire

// Coalescer is what has attempts share pipelines, for tests that fly them by hand.
type Coalescer struct{ *coalescer }

// NewCoalescer makes one.
func NewCoalescer(most int, fly func([]*Attempt)) Coalescer {
	return Coalescer{newCoalescer(most, fly)}
}

// Send has an attempt take off.
func (c Coalescer) Send(a *Attempt) { c.send(a) }

// Withdraw takes back an attempt that waits.
func (c Coalescer) Withdraw(a *Attempt) bool { return c.withdraw(a) }

// Close ends the flights.
func (c Coalescer) Close() { c.close() }

// Idle is how many flights have nothing to carry.
func (c Coalescer) Idle() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.idle)
}

// The measures of a coalescer.
const (
	Lanes     = lanes
	MaxFlight = maxFlight
	Stall     = stall
	Idleness  = idleness
)
