package redistest

import (
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// shared is the server that all tests of this binary may use.
var shared struct {
	mu     sync.Mutex // guards server; held while it starts, so that one is started
	server *Server
}

// Shared returns the one server of this test binary, started on first use, for
// tests that keep to names of their own. It calls [Require]. [Main] stops it.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		n, err := newNode(choose(t, settings{}))
		if err != nil {
			t.Fatalf("redistest: starting the shared redis-server: %v", err)
		}
		shared.server = &Server{node: n}
	}
	return shared.server
}

// Main runs the tests, stops the shared server, looks for leaked goroutines if
// all went well, and exits. It is what TestMain calls.
func Main(m *testing.M, options ...goleak.Option) {
	goleak.VerifyTestMain(stopping{m}, options...)
}

// stopping ends the shared server between the tests and the search for leaks,
// which would find the goroutine that waits for it.
type stopping struct{ m *testing.M }

// Run runs the tests.
func (s stopping) Run() int {
	defer stopShared()
	return s.m.Run()
}

func stopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		shared.server.node.remove()
		shared.server = nil
	}
}

// IgnoreServers is for a search for leaks in the middle of a test: it overlooks
// the goroutine with which this package waits for each running server.
func IgnoreServers() goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/rlock-go/rlock/internal/redistest.(*process).run")
}
