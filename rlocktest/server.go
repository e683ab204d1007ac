package rlocktest

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/rlock"
)

// Server is an embedded Redis for one test, with the Clients on it. Its methods are for the goroutine that runs the test,
// as they may end the test; the Clients are for any.
type Server struct {
	t        testing.TB
	opts     []rlock.Option
	patience time.Duration // how long the test waits for somebody to take a lock
	mini     *miniredis.Miniredis
	faults   *faults
	looker   *redis.Client
	client   *rlock.Client

	mu      sync.Mutex      // guards what follows
	clients []*rlock.Client // the Client and its rivals
	rdbs    []*redis.Client
}

// New starts an embedded Redis and makes a Client on it with these options. Unless they say otherwise, the Client writes to
// the test's log, and gives up on a Redis that does not answer after 2 s. A bad option ends the test.
//
// At cleanup the Redis recovers, and the Clients and the server are closed. Whoever holds a lock by then is told so by its
// context and has 2 s to give it back; else the test fails, with a list of what was still held.
func New(t testing.TB, opts ...rlock.Option) *Server {
	t.Helper()
	s := &Server{t: t, patience: 10 * time.Second, mini: miniredis.NewMiniRedis(), faults: newFaults()}
	s.opts = append([]rlock.Option{
		rlock.WithLogger(slog.New(slog.NewTextHandler(t.Output(), nil))),
		rlock.WithRetryBudget(retryBudget),
	}, opts...)
	if err := s.mini.Start(); err != nil {
		t.Fatalf("rlocktest: starting the embedded Redis: %v", err)
	}
	s.mini.Server().SetPreHook(s.faults.intercept)
	s.mini.ClockTTL(true)
	t.Cleanup(s.close)
	s.looker = s.dial()
	s.client = s.Rival()
	return s
}

const (
	retryBudget = 2 * time.Second
	// answerTime is what the embedded server never needs, even on a machine that has other things to do.
	answerTime = time.Second
)

// Client is the Client for the code under test.
func (s *Server) Client() *rlock.Client { return s.client }

// Rival makes another Client on the same Redis, as another process would be: with the options of New, and then these. What
// it holds is taken for everybody else. It is closed at cleanup.
func (s *Server) Rival(opts ...rlock.Option) *rlock.Client {
	s.t.Helper()
	c, err := rlock.New(s.dial(), append(slices.Clip(s.opts), opts...)...)
	if err != nil {
		s.t.Fatalf("rlocktest: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, c)
	return c
}

// Redis is a plain client, to look into the embedded Redis or to meddle: Del of a lock's name is what an operator might do,
// and its holder learns of it at the next renewal, after a third of [rlock.WithWatchdogTimeout]. It is closed at cleanup.
func (s *Server) Redis() *redis.Client { return s.looker }

// Addr is host:port of the embedded Redis, for code that makes its own client.
func (s *Server) Addr() string { return s.mini.Addr() }

func (s *Server) dial() *redis.Client {
	rdb := redis.NewClient(&redis.Options{
		Addr: s.mini.Addr(), ReadTimeout: answerTime, WriteTimeout: answerTime, DialTimeout: answerTime,
		DisableIdentity: true,
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rdbs = append(s.rdbs, rdb)
	return rdb
}
