// Package gate decides whose turn it is among the waiters of one process.
//
// Waiters of one name stand in a line, first come, first served, and only the
// head of the line talks to Redis. So a hot lock costs one process one
// conversation with the server, however many of its goroutines want it, and
// none of them can overtake another for ever.
//
// The gate knows nothing of Redis, contexts or time-outs: a waiter that gives
// up, for whatever reason, leaves, and leaving is all that others depend on.
package gate

import "sync"

// Gate keeps the lines of all names of one client. A name exists from its first
// Join to its last Leave and takes no memory before or after.
type Gate struct {
	// mu guards lines, and the links of every line and ticket. Nothing under it
	// can block: the one channel operation there is a close.
	mu    sync.Mutex
	lines map[string]*line
}

// line is the queue of one name, never empty while it is in the map. It is
// doubly linked, because most waiters that give up do so from the middle.
type line struct {
	head, tail *Ticket
	board      Board
}

// New returns a gate where nobody waits.
func New() *Gate {
	return &Gate{lines: make(map[string]*line)}
}

// Join puts a new waiter at the end of the line of name. It never blocks. The
// ticket stays in line until its Leave, so every Join needs a deferred Leave.
func (g *Gate) Join(name string) *Ticket {
	t := &Ticket{gate: g, name: name}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lines[name]
	if l == nil {
		l = &t.own
		g.lines[name] = l
	}
	l.append(t)
	return t
}

// Pick returns the waiter at the head of the line of name if it is parked and
// fit, and nil else. A waiter is picked by one caller only, and keeps its place.
// fit is called with the gate locked, so it must neither block nor ask the gate.
func (g *Gate) Pick(name string, fit func(waiter any) bool) (waiter any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lines[name]
	if l == nil || l.head.parked == nil || !fit(l.head.parked) {
		return nil
	}
	waiter, l.head.parked = l.head.parked, nil
	return waiter
}

// Len returns how many names have somebody in line.
func (g *Gate) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.lines)
}

// append adds t as the last one and, in an empty line, gives it the turn.
func (l *line) append(t *Ticket) {
	t.line, t.prev = l, l.tail
	l.tail = t
	if t.prev != nil {
		t.turn = make(chan struct{})
		t.prev.next = t
		return
	}
	t.turn = passed
	l.head = t
}

// remove takes t out. If t had the turn, which its place in the line says, the
// turn goes on, whether or not the waiter that leaves has noticed that it came.
func (l *line) remove(t *Ticket) {
	if t.next != nil {
		t.next.prev = t.prev
	} else {
		l.tail = t.prev
	}
	if t.prev != nil {
		t.prev.next = t.next
		return
	}
	l.head = t.next
	if l.head != nil {
		close(l.head.turn) // a ticket becomes the head only once
	}
}
