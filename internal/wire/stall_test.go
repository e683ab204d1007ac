package wire_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

// shared is a Wire with so many connections, behind a proxy that holds what is asked about a key that hangs.
type shared struct {
	*testing.T
	wire  *wire.Wire
	rdb   *redis.Client
	proxy *faultproxy.Proxy
}

const hanging = time.Second

func newShared(t *testing.T, connections int) *shared {
	t.Helper()
	srv := redistest.Shared(t)
	s := &shared{T: t, proxy: faultproxy.New(t, srv.Addr())}
	s.wire, s.rdb = newWireOn(t, srv, func(o *redis.Options) { o.Addr, o.PoolSize = s.proxy.Addr(), connections })
	<-s.send("warm").Done()
	s.proxy.HoldRequest(hanging, faultproxy.Every, s.key("hangs"))
	return s
}

func (s *shared) key(name string) faultproxy.Match { return faultproxy.Word(s.Name() + name) }

func (s *shared) send(name string) *wire.Attempt {
	return s.wire.Send(s.Context(), lua.Renew(s.Name()+name, "f", time.Second))
}

// hangs sends so many attempts that hang, each on a connection of its own.
func (s *shared) hangs(n int) (hung []*wire.Attempt) {
	s.Helper()
	for i := range n {
		hung = append(hung, s.send("hangs"))
		require.NoError(s, s.proxy.WaitReceived(s.Context(), s.key("hangs"), i+1))
	}
	return hung
}

// While the connections that are used at a time hang, others are: nobody waits for an answer to somebody else.
func TestSend_ConnectionsThatHangHoldUpNobodyElse(t *testing.T) {
	s := newShared(t, 12)
	hung := s.hangs(4)
	a := s.send("quick")
	select {
	case <-a.Done():
		assert.Equal(t, wire.Done, a.Reply().Outcome)
	case <-hung[3].Done():
		t.Error("it waited for what hangs")
	}
	for _, a := range hung {
		<-a.Done()
	}
}

// All connections hang. Who gives up meanwhile is told that the command did not run, and it never does; what is on its way is
// none of that.
func TestWithdraw_WhatWaitsForAConnectionIsNeverSent(t *testing.T) {
	s := newShared(t, 2)
	hung := s.hangs(1)[0]
	waits, next := s.send("waits"), s.send("next")
	s.wire.Withdraw(hung)
	s.wire.Withdraw(waits)
	select {
	case <-waits.Done():
		assert.Equal(t, wire.Refused, waits.Reply().Outcome)
		assert.True(t, waits.Reply().Retry)
		require.ErrorIs(t, waits.Reply().Err, os.ErrDeadlineExceeded)
	default:
		t.Error("it was not withdrawn")
	}
	<-next.Done()
	assert.Equal(t, wire.Done, next.Reply().Outcome)
	assert.Zero(t, s.proxy.Received(s.key("waits")))
	<-hung.Done()
	assert.Equal(t, wire.Done, hung.Reply().Outcome, "it was under way")
	assert.NoError(t, s.wire.Close(context.Background()))
}

// What comes while connections are busy shares one: a crowd needs few of them, and everybody has an answer of its own.
func TestSend_ACrowdSharesFewConnections(t *testing.T) {
	s := newShared(t, 100)
	s.proxy.DelayReplies(20 * time.Millisecond)
	crowd := make([]*wire.Attempt, 1000)
	for i := range crowd {
		crowd[i] = s.send("crowd")
	}
	for _, a := range crowd {
		<-a.Done()
		assert.Equal(t, wire.Done, a.Reply().Outcome)
	}
	assert.Equal(t, len(crowd), s.proxy.Answered(s.key("crowd")))
	assert.Less(t, s.rdb.PoolStats().TotalConns, uint32(50))
}
