package faultproxy

import (
	"net"
	"sync"
	"time"
)

// link is one client's connection and the one to the server that it has for
// itself. Four goroutines serve it: each end is read by one, which sorts what
// comes into a queue, and each queue is emptied by one, which waits for what is
// not due and writes. So a fault in one direction never blocks the other, and
// what a client sent outlives the client.
type link struct {
	proxy    *Proxy
	client   *net.TCPConn
	requests *queue[*exchange]
	replies  *queue[parcel]
	dead     chan struct{} // closed when nothing can reach the server any more
	settled  chan struct{} // size 1: a token when a held request was answered
	tasks    sync.WaitGroup

	mu      sync.Mutex   // guards what follows; no I/O under it but closing sockets
	server  *net.TCPConn // nil before it is dialled
	pairing pairing
	logins  logins
	silent  bool // a reply was lost: nothing reaches the client any more
	severed bool // cut: requests that are not held are lost
	aborted bool // the proxy closes
	held    int  // held requests that are not answered yet
}

func newLink(p *Proxy, client *net.TCPConn) *link {
	return &link{
		proxy:    p,
		client:   client,
		requests: newQueue[*exchange](),
		replies:  newQueue[parcel](),
		dead:     make(chan struct{}),
		settled:  make(chan struct{}, 1),
	}
}

// run returns when both connections are closed.
func (l *link) run() {
	l.tasks.Go(l.readRequests)
	if server, err := l.dial(); err != nil {
		reset(l.client) // too late to refuse it
		close(l.dead)
	} else {
		l.tasks.Go(func() { l.readReplies(server) })
		l.tasks.Go(l.writeReplies)
		l.writeRequests(server)
		l.farewell(server)
	}
	l.tasks.Wait()
	_ = l.client.Close()
}

// dial waits for the end of a black hole, because a server behind one would not
// notice a new client.
func (l *link) dial() (*net.TCPConn, error) {
	if !l.proxy.gate.pass(l.proxy.life.Done()) || l.isPointless() {
		return nil, net.ErrClosed
	}
	server, err := l.proxy.dial()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.server = server
	l.mu.Unlock()
	if l.isPointless() { // it was cut before it could reset this one too
		reset(server)
	}
	return server, nil
}

// await waits for the instant and then for the gate; false: stop came first.
func (l *link) await(due time.Time, stop <-chan struct{}) bool {
	if !due.IsZero() {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-stop:
			return false
		}
	}
	return l.proxy.gate.pass(stop)
}
