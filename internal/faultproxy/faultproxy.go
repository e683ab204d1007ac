// Package faultproxy is a TCP proxy in front of a redis-server that does to
// requests and replies what networks do: it delays them, loses them, delivers
// them late or twice, and cuts the line at the worst moment.
//
// It reads both directions as RESP, so a fault can be aimed at one command
// ([Match]) and strikes between the request's effect and its reply, not at some
// byte. What it keeps is what TCP keeps: the order of each direction of a
// connection. A delayed reply delays those behind it, a lost one silences its
// connection for good, and a held request holds up the requests behind it.
//
// Faults are decided when a request reaches the proxy. [Proxy.Heal] ends them
// for the requests that follow; what is already under way stays under way, as it
// would in a network.
//
// Requests travel on although the client has hung up, also out of a black hole.
// Only [Proxy.Cut] destroys them, and not those that [Proxy.HoldRequest] holds.
//
// It does not understand TLS, nor CLIENT REPLY OFF and SKIP.
package faultproxy

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Every as a number of requests is all of them, until [Proxy.Heal].
const Every = -1

// Proxy accepts connections for one redis-server. Its methods may be called from
// any goroutine while requests flow.
type Proxy struct {
	t      testing.TB
	target string
	addr   string
	faults faults
	ledger ledger
	gate   gate

	life  context.Context //nolint:containedctx // over when the proxy closes
	end   context.CancelFunc
	tasks sync.WaitGroup // every goroutine of the proxy

	mu       sync.Mutex // guards what follows; no I/O under it but closing sockets
	closed   bool
	listener net.Listener       // nil while connections are refused
	links    map[*link]struct{} // the connections that are not over
}

// New starts a proxy on a free port of the loopback interface; target is the
// server's address. The proxy is closed at the test's cleanup, and its
// connections with it.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, target: target, links: make(map[*link]struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	p.ledger.start()
	p.gate.set(true)
	if err := p.listen("127.0.0.1:0"); err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	p.addr = p.listener.Addr().String()
	t.Cleanup(p.close)
	return p
}

// Addr returns "127.0.0.1:port"; it stays the same through [Proxy.Refuse].
func (p *Proxy) Addr() string { return p.addr }

func (p *Proxy) listen(addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return listener.Close()
	}
	p.listener = listener
	p.tasks.Go(func() { p.accept(listener) })
	return nil
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		p.admit(conn.(*net.TCPConn)) //nolint:forcetypeassert // it listens on TCP alone
	}
}

func (p *Proxy) admit(client *net.TCPConn) {
	l := newLink(p, client)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		reset(client)
		return
	}
	p.links[l] = struct{}{}
	p.tasks.Go(func() {
		l.run()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	})
}

// close ends everything and waits for it. Held requests are not delivered.
func (p *Proxy) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.unlistenLocked()
		for l := range p.links {
			l.abort()
		}
		p.end() // last: what it wakes closes connections in peace
	}
	p.mu.Unlock()
	p.tasks.Wait()
}

func (p *Proxy) unlistenLocked() {
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// sleep waits until the instant has come; false: the proxy closed first.
func (p *Proxy) sleep(until time.Time) bool {
	wait := time.Until(until)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.life.Done():
		return false
	}
}

// dial connects to the server, and gives up when the proxy closes.
func (p *Proxy) dial() (*net.TCPConn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(p.life, "tcp", p.target)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil //nolint:forcetypeassert // TCP was dialled
}

// reset closes the connection with an RST, whatever is under way on it.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}
