package faultproxy

import (
	"strings"
	"sync"
	"time"
)

// BlackHole makes the proxy, while on, accept connections and bytes and forward
// none in either direction, on connections old and new; nobody gets an RST. When
// it ends, what has gathered travels on, also from clients that have hung up: TCP
// would have retransmitted it. Call [Proxy.Cut] before to have it lost.
func (p *Proxy) BlackHole(on bool) { p.gate.set(!on) }

// Refuse makes the proxy, while on, do without its listener, so that new
// connections are refused; those that exist go on. When it ends, the proxy listens on the same port again,
// and fails the test if somebody else took it.
func (p *Proxy) Refuse(on bool) {
	p.t.Helper()
	if on {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unlistenLocked()
		return
	}
	if err := p.reopen(); err != nil {
		p.t.Errorf("faultproxy: listening again: %v", err)
	}
}

// reopen insists for a while: an outgoing connection of anybody may sit on the
// port for a moment.
func (p *Proxy) reopen() error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		if p.listening() {
			return nil
		}
		err := p.listen(p.addr)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		p.sleep(time.Now().Add(10 * time.Millisecond))
	}
}

func (p *Proxy) listening() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener != nil || p.closed
}

// Cut resets every connection now, towards the client and towards the server.
// Requests and replies that are still in the proxy are lost, but for those that
// [Proxy.HoldRequest] holds.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.sever()
	}
}

// Heal ends all faults, a black hole and a refusal included. What is delayed,
// held or about to be repeated remains so.
func (p *Proxy) Heal() {
	p.t.Helper()
	p.faults.clear()
	p.Refuse(false)
	p.BlackHole(false)
}

// gate is passed by everything that is forwarded, and shut by a black hole.
type gate struct {
	mu     sync.Mutex    // guards opened
	opened chan struct{} // closed while the gate is open
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
	if isOpen := closed(g.opened); open && !isOpen {
		close(g.opened)
	} else if !open && isOpen {
		g.opened = make(chan struct{})
	}
}

// pass waits until the gate is open; false: stop was closed first.
func (g *gate) pass(stop <-chan struct{}) bool {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-opened:
		return true
	case <-stop:
		return false
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// errorLine makes one line of RESP of what a test wrote by hand.
func errorLine(reply string) string {
	return "-" + strings.TrimPrefix(strings.TrimRight(reply, "\r\n"), "-") + "\r\n"
}
