package rlock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rlock-go/rlock/internal/wire"
)

// ending is how far a Client is on its way to the end.
type ending struct {
	begin    sync.Once
	closing  chan struct{} // closed first: no new work, waiters fail
	hurry    chan struct{} // closed when a Close has no time any more to wait for holders
	hurried  sync.Once
	why      error         // the end of that Close's context; set before hurry is closed
	draining chan struct{} // closed when the holders are gone or given up: what runs in the background makes an end
	closed   chan struct{} // closed last
	err      error         // what Close returns; set before closed is closed
}

func newEnding() ending {
	return ending{
		closing: make(chan struct{}), hurry: make(chan struct{}), draining: make(chan struct{}), closed: make(chan struct{}),
	}
}

// Close ends the Client: it refuses new work, fails the waiters with ErrClosed, ends the contexts of the holds with that
// cause, and then waits for the holders to give back, as long as ctx allows. All that time the holds are renewed, so that
// no lock is pulled from under a running section. In the end renewal stops: what is still held, levels that were lost and
// never given back included, is reported in the error and runs out by its lease.
//
// When Close returns nil, no goroutine of the Client remains. Beyond ctx it may take the read or the dial time-out of the
// redis client, whichever is longer, for commands and connections that are under way. It does not close that client. A second
// Close waits for the first and returns nil; when the second's ctx ends first, the holders are given up and both say so.
func (c *Client) Close(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("rlock: close: %w", errNilContext)
	}
	mine := false // the error is told to who began the end, and to who cut it short
	c.end.begin.Do(func() {
		mine = true
		go c.shutDown()
	})
	select {
	case <-c.end.closed:
	case <-ctx.Done():
		c.end.hurried.Do(func() {
			mine = true
			c.end.why = endOf(ctx)
			close(c.end.hurry)
		})
		<-c.end.closed
	}
	if mine {
		return c.end.err
	}
	return nil
}

// shutDown is the one course of Close.
func (c *Client) shutDown() {
	defer close(c.end.closed)
	close(c.end.closing)
	for _, t := range c.table.close() {
		t.tell(ErrClosed)
	}
	err := c.awaitHolders()
	c.end.err = errors.Join(err, c.wind())
}

// awaitHolders waits until nobody of this process holds a lock or is at one. Those who only wait for one are on their way
// out by now, and it waits for them in any case: what they leave behind is to be settled.
func (c *Client) awaitHolders() error {
	select {
	case <-c.table.empty:
		return nil
	case <-c.end.hurry:
	}
	if n := c.table.count(); n > 0 {
		return fmt.Errorf("rlock: close: %d holds not given back%s: %w", n, c.table.some(3), c.end.why)
	}
	<-c.table.empty
	return nil
}

// wind stops what runs in the background, in the order in which one part leans on the other: the renewals, the wake-ups, the
// give-backs, the lines of the log, the commands under way.
func (c *Client) wind() error {
	close(c.end.draining)
	for _, t := range c.table.all() {
		t.doNothingLater()
	}
	c.dog.Close()
	hub := c.inFarewell(c.hub.Close)
	c.chores.seal()
	_ = c.inFarewell(c.lines.flush) // a logger that hangs is not ours to report
	if err := errors.Join(hub, c.inFarewell(c.wire.Close)); err != nil {
		return fmt.Errorf("rlock: close: connections still hang: %w", err)
	}
	return nil
}

// inFarewell gives a part of the engine the time that connections may take to end.
func (c *Client) inFarewell(end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.farewell)
	defer cancel()
	return end(ctx)
}

func (c *Client) isClosing() bool  { return isClosed(c.end.closing) }
func (c *Client) isDraining() bool { return isClosed(c.end.draining) }

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// closedOr turns the refusal of a closed Wire into ErrClosed.
func (c *Client) closedOr(err error) error {
	if err == wire.ErrClosed { //nolint:errorlint // never wrapped
		return ErrClosed
	}
	return err
}
