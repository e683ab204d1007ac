package rlock

import (
	"sync"
)

// seat is the place of one owner at one lock, while it holds the lock or a call of its is under way.
type seat struct {
	key  seatKey
	refs int // guarded by the table's mutex

	// turn is held while a command of this owner on this lock is under way: acquire and release name the count they want,
	// so they have to reach Redis in the order in which the counts were decided.
	turn turn

	mu      sync.Mutex // guards what follows, and all that is mutable in a tenure and its levels; no I/O under it
	tenure  *tenure
	arrival chan struct{} // closed when a tenure begins; made when somebody waits for that
}

// current is the owner's tenure, if there is one: alive, or lost and not given back yet.
func (s *seat) current() *tenure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenure
}

// seatTenure makes n the owner's tenure and tells the owner's other callers, who can now enter as nested.
func (s *seat) seatTenure(n *tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenure = n
	if s.arrival != nil {
		close(s.arrival)
		s.arrival = nil
	}
}

// arrivals is closed when the next tenure of this owner begins, or already if there is one.
func (s *seat) arrivals() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure != nil {
		return closedChan
	}
	if s.arrival == nil {
		s.arrival = make(chan struct{})
	}
	return s.arrival
}

var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
