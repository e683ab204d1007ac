package faultproxy

import "net"

// farewell ends the connection to the server as the client ended its own, once
// every held request is answered: a server may forget what it has read from a
// client that is gone.
func (l *link) farewell(server *net.TCPConn) {
	for l.owes() && !closed(l.dead) {
		select {
		case <-l.settled:
		case <-l.dead:
		}
	}
	switch {
	case closed(l.dead):
		_ = server.Close()
	case l.isSevered():
		reset(server)
	default:
		_ = server.CloseWrite()
	}
	<-l.dead
	_ = server.Close()
}

func (l *link) owes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held > 0
}

func (l *link) isSevered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.severed
}

// isPointless says that nothing is left to do for this link but to end.
func (l *link) isPointless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.aborted || l.severed && l.held == 0
}

// sever resets the client's connection, and the server's unless a held request
// has yet to travel on it.
func (l *link) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.severed, l.silent = true, true
	reset(l.client)
	if l.held == 0 && l.server != nil {
		reset(l.server)
	}
}

// abort ends the link at once.
func (l *link) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aborted = true
	reset(l.client)
	if l.server != nil {
		reset(l.server)
	}
}
