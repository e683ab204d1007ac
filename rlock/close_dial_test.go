package rlock_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// The host of Redis is gone: every connection is dead, and who dials anew hears nothing, for SYNs are dropped. Renewals,
// waiters and the subscriber all hang in a dial when Close is called, which is back in a few time-outs all the same.
func TestCloseIsBoundedWhileDialsHang(t *testing.T) {
	t.Parallel()
	late := watchStalls(t)
	r := newRig(t)
	d := &deadEnd{over: make(chan struct{})}
	c := r.clientWith(&redis.Options{
		Addr: r.srv.Addr(), Dialer: d.dial,
		DialTimeout: answerTime, ReadTimeout: answerTime, WriteTimeout: answerTime,
	}, rlock.WithWatchdogTimeout(600*time.Millisecond))
	t.Cleanup(func() { close(d.over) })
	holder := someone()
	require.NoError(t, r.rival.Lock(holder))
	waiter := outcome(func() error { return c.NewLock(r.key).Lock(someone()) })
	r.asleep(1)
	h, err := c.NewLock(r.key + ":held").Acquire(someone())
	require.NoError(t, err)

	d.cutOff()
	r.eventually(func() bool { return d.hanging.Load() > 1 }, "a renewal and the subscriber dial")
	began := instant()
	err = inTime(t, 20*time.Second, outcome(func() error { return c.Close(ended()) }), "Close")
	assert.Less(t, instant()-began, 4*answerTime+4*late.late())
	require.ErrorContains(t, err, "1 holds not given back")
	require.ErrorIs(t, <-waiter, rlock.ErrClosed)
	requireEnd(t, h.Context())
	require.NoError(t, r.rival.Unlock(holder))
}

// deadEnd dials, until it is cut off: from then on its dials hang until the test ends, whatever their context says.
type deadEnd struct {
	over    chan struct{}
	hanging atomic.Int32
	mu      sync.Mutex // guards what follows
	cut     bool
	conns   []net.Conn
}

func (d *deadEnd) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cut {
		d.mu.Unlock()
		defer d.mu.Lock()
		d.hanging.Add(1)
		<-d.over
		return nil, errors.New("no answer to SYN")
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		d.conns = append(d.conns, conn)
	}
	return conn, err
}

func (d *deadEnd) cutOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = true
	for _, conn := range d.conns {
		_ = conn.Close()
	}
}
