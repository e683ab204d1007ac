package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// waiter is somebody who waits for a lock.
type waiter struct {
	ctx  context.Context
	done chan error
}

// park starts a waiter, and returns when it has looked for the last time: it is subscribed, and the server, which is this
// test's own, has not been asked anything for a while.
func park(t *testing.T, srv *redistest.Server, l *rlock.Lock) waiter {
	t.Helper()
	w := waiter{ctx: someone(), done: make(chan error, 1)}
	raw, channel := srv.Raw(t), rlock.ChannelOf(l.Name())
	go func() { w.done <- l.Lock(w.ctx) }()
	eventually(t, func() bool { return raw.PubSubNumSub(t.Context(), channel).Val()[channel] == 1 }, "subscribed")
	watch(t, srv).settle()
	return w
}

// requireIn waits until it got in.
func (w waiter) requireIn(t *testing.T) {
	t.Helper()
	select {
	case err := <-w.done:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("it does not get in")
	}
}

func (w waiter) assertWaits(t *testing.T) {
	t.Helper()
	select {
	case err := <-w.done:
		t.Fatalf("it waits no longer: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
}

// line is waiters, all of whom wait.
type line struct {
	giveUp context.CancelFunc
	done   chan error
}

// waitAll starts n waiters, each on a goroutine and so an owner of its own, and returns when all are in line.
func waitAll(t *testing.T, c *rlock.Client, n int, wait func(impatient context.Context, i int) error) *line {
	t.Helper()
	ctx, giveUp := context.WithCancel(t.Context())
	l := &line{giveUp: giveUp, done: make(chan error, n)}
	for i := range n {
		go func() { l.done <- wait(ctx, i) }()
	}
	eventually(t, func() bool { return c.Leftovers().Seats == n }, "all wait")
	return l
}

// leave has those give up who are impatient, so many of them.
func (l *line) leave(t *testing.T, impatient int) {
	t.Helper()
	l.giveUp()
	for range impatient {
		err := <-l.done
		require.ErrorIs(t, err, rlock.ErrNotAcquired)
		require.ErrorIs(t, err, context.Canceled)
	}
}

func total(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}
