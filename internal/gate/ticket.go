package gate

// Ticket is one waiter's place in the line of one name.
type Ticket struct {
	gate *Gate
	name string
	turn chan struct{}

	// Guarded by gate.mu. line is nil once the ticket has left; the neighbours
	// are cut then too, so that a ticket kept by its user keeps no other alive.
	line       *line
	prev, next *Ticket
}

// Turn returns the channel that receives once, when this ticket becomes the
// head of its line: at once for the first to come. The token waits in the
// channel for as long as it takes. A ticket that left before its turn receives
// nothing; one that left at that very moment may still find a token, which
// means nothing any more, for the turn has gone on.
func (t *Ticket) Turn() <-chan struct{} {
	return t.turn
}

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
// had it, read or unread. The last to leave removes the name. Leaving again does
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

// call tells t that it is the head. A ticket becomes the head only once, so
// there is always room for the token.
func (t *Ticket) call() {
	t.turn <- struct{}{}
}
