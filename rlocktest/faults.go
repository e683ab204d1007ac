package rlocktest

import (
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// Fail lets Redis answer every command with this error, until Recover. It begins with a code, as Redis' own errors do:
//
//   - "LOADING …", "READONLY …" and the other codes of a server that may soon serve again are tried again, until the
//     retry budget is over;
//   - any other, "ERR …", "NOPERM …" or "OOM …" for instance, is the immediate answer of an acquire.
//
// Either way the error is in the text of the one the caller gets, which is neither [rlock.ErrNotAcquired] nor
// [rlock.ErrLost]. Holds go on: they are lost only when no renewal succeeds until their lease is nearly over. An empty text
// stands for "ERR failing, as told to by the test".
func (s *Server) Fail(text string) {
	if text == "" {
		text = "ERR failing, as told to by the test"
	}
	s.faults.set(text, nil)
}

// Hang lets Redis accept commands and connections, and answer nothing, until Recover. What came in meanwhile is carried out
// then, late, as by a server that was paused.
func (s *Server) Hang() { s.faults.set("", make(chan struct{})) }

// Recover lets Redis serve again. It keeps its data through Fail and Hang, save what expires: time goes on.
func (s *Server) Recover() { s.faults.set("", nil) }

// faults stand between the connections of the server and its commands.
type faults struct {
	mu    sync.Mutex // guards what follows
	peers map[*server.Peer]struct{}
	text  string        // the answer to everything; "" for none
	hung  chan struct{} // closed when the server no longer hangs; nil while it does not
}

func newFaults() *faults { return &faults{peers: map[*server.Peer]struct{}{}} }

func (f *faults) set(text string, hung chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hung != nil {
		close(f.hung)
	}
	f.text, f.hung = text, hung
}

// intercept is called before every command; true means that the command is answered.
func (f *faults) intercept(p *server.Peer, _ string, _ ...string) bool {
	if !f.isConnection(p) {
		return false
	}
	for {
		text, hung := f.current()
		if hung == nil {
			if text != "" {
				p.WriteError(text)
			}
			return text != ""
		}
		<-hung
	}
}

func (f *faults) current() (text string, hung chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text, f.hung
}

// isConnection tells a connection from the stand-in through which a script runs its commands: those must not fail, or a
// script would stop half way, which no Redis does. A stand-in comes with its Ctx set, a connection gets one with its first
// command, which is seen here before.
func (f *faults) isConnection(p *server.Peer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.peers[p]; known {
		return true
	}
	if p.Ctx != nil {
		return false
	}
	f.peers[p] = struct{}{}
	p.OnDisconnect(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.peers, p)
	})
	return true
}
