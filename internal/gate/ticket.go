package gate

// Ticket is one waiter's place in the line of one name.
type Ticket struct {
	gate *Gate
	name string
	turn chan struct{}
	own  line // that of the first to come, for as long as it has somebody

	// Guarded by gate.mu. line is nil once the ticket has left; the neighbours
	// are cut then too, so that a ticket kept by its user keeps no other alive.
	line       *line
	prev, next *Ticket

	parked any // the waiter, while it may be picked. Guarded by gate.mu
}

// Turn returns the channel that is closed when this ticket becomes the head of
// its line: from the start for the first to come. That of a ticket which left
// before its turn stays open; one that left at that very moment may still find
// it closed, which means nothing any more, for the turn has gone on.
func (t *Ticket) Turn() <-chan struct{} {
	return t.turn
}

// passed is the turn of those who need not wait for it.
var passed = func() chan struct{} {
	turn := make(chan struct{})
	close(turn)
	return turn
}()

// Board is that of the line, and nil once the ticket has left.
func (t *Ticket) Board() *Board {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	if t.line == nil {
		return nil
	}
	return &t.line.board
}

// Leave gives up the place, passing the turn to the next in line if this ticket
// had it, noticed or not. The last to leave removes the name. Leaving again does
// nothing. It never blocks.
func (t *Ticket) Leave() {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	if t.line == nil {
		return
	}
	t.line.remove(t)
	if t.line.head == nil {
		delete(t.gate.lines, t.name)
	}
	t.line, t.prev, t.next = nil, nil, nil
}

// Park says that the waiter sleeps, and that until Unpark somebody else may
// serve it. Who picks it is handed the waiter, which must not be nil.
func (t *Ticket) Park(waiter any) {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	t.parked = waiter
}

// Unpark ends that, and reports whether the waiter was picked meanwhile. It is
// for a ticket that is parked, also if it has left the line since.
func (t *Ticket) Unpark() (picked bool) {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	picked = t.parked == nil
	t.parked = nil
	return picked
}
