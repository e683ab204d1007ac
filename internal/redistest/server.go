package redistest

import (
	"crypto/tls"
	"errors"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Server is one redis-server without replicas. Its methods that change the
// process fail the test that started it when they cannot; on the [Shared] server
// they panic, because other tests stand on it.
type Server struct {
	node *node
	t    testing.TB // nil for the shared server
}

// Start starts a server for this test and returns when it answers PING. It calls
// [Require] first. At cleanup the server is killed, its output is logged if the
// test failed, and the test fails if the server crashed in between.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	n, err := newNode(choose(t, gather(opts)))
	if errors.Is(err, errNoTLS) {
		skip(t, err.Error())
	}
	if err != nil {
		t.Fatalf("redistest: starting redis-server: %v", err)
	}
	s := &Server{node: n, t: t}
	t.Cleanup(s.discard)
	return s
}

// choose settles which binary runs, or ends the test where there is none.
func choose(t testing.TB, s settings) settings {
	t.Helper()
	if s.binary == "" {
		Require(t)
		s.binary, _ = Binary()
	}
	return s
}

func (s *Server) discard() {
	if proc := s.node.latest(); proc.crashed() {
		s.t.Errorf("redistest: redis-server ended by itself: %v", proc.failure)
	}
	_ = s.node.end(syscall.SIGKILL)
	if s.t.Failed() {
		s.t.Logf("redistest: output of redis-server %s:\n%s", s.Addr(), s.node.logFrom(0))
	}
	s.node.remove()
}

// Addr returns "127.0.0.1:port"; it stays the same through restarts.
func (s *Server) Addr() string { return s.node.addr() }

// Port returns the TCP port.
func (s *Server) Port() int { return s.node.port }

// PID returns the id of the process, or 0 while the server is down.
func (s *Server) PID() int {
	if proc := s.node.running(); proc != nil {
		return proc.pid()
	}
	return 0
}

// TLSConfig returns a configuration for clients of a server started with [TLS],
// the caller's to change, and nil for any other server.
func (s *Server) TLSConfig() *tls.Config { return s.node.tls.Clone() }

// Client returns a go-redis client with default options, after the changes, that
// is closed at the test's cleanup. It may be closed before.
func (s *Server) Client(t testing.TB, changes ...func(*redis.Options)) *redis.Client {
	t.Helper()
	options := s.node.clientOptions()
	for _, change := range changes {
		change(options)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Raw returns a client for the test's own looks at the server, apart from the
// clients under test.
func (s *Server) Raw(t testing.TB) *redis.Client {
	t.Helper()
	return s.Client(t)
}
