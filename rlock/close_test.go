package rlock_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Close politely, then close now.
func TestASecondCloseWithoutTimeHurriesTheFirst(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	h, err := c.NewLock(c.ID()).Acquire(someone()) // it stays until its lease ends, in nobody's way
	require.NoError(t, err)
	first := outcome(func() error { return c.Close(context.Background()) })
	<-h.Context().Done() // the first is under way
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Close(ctx), context.DeadlineExceeded)
	require.ErrorContains(t, inTime(t, 20*time.Second, first, "the first Close"), "1 holds not given back")
}

// Waiters are failed, and nobody else is in the way: that is no failure of Close, however little time it has.
func TestCloseWithWaitersAloneSucceeds(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	held, err := clientOf(t, srv).NewLock(t.Name()).Acquire(someone())
	require.NoError(t, err)
	for range 20 {
		c := clientOf(t, srv)
		waiter := outcome(func() error { return c.NewLock(t.Name()).Lock(someone()) })
		require.Eventually(t, func() bool { return c.Leftovers().Queues == 1 }, 10*time.Second, time.Millisecond)
		require.NoError(t, c.Close(ended()))
		require.ErrorIs(t, <-waiter, rlock.ErrClosed)
	}
	require.NoError(t, held.Release(t.Context()))
}

// Attacks promise P10: callers in numbers go on calling while Close waits for a holder. Each is refused before it is anybody whom
// Close would wait for, so that the crowd cannot keep it waiting when the holder is gone.
func TestP10_CallersOfAClosingClientAreNotWaitedFor(t *testing.T) {
	c := clientOf(t, redistest.Shared(t))
	h, err := c.NewLock(t.Name()).Acquire(someone())
	require.NoError(t, err)
	closed := outcome(func() error { return c.Close(context.Background()) })
	requireEnd(t, h.Context())

	over := make(chan struct{})
	var all sync.WaitGroup
	for i := range 8 {
		l := c.NewLock(nameOf(t, i))
		all.Go(func() {
			for ctx := someone(); !isOver(over); runtime.Gosched() {
				_, err := l.TryLock(ctx)
				assert.ErrorIs(t, err, rlock.ErrClosed)
			}
		})
	}
	most := 0
	for end := instant() + 300*time.Millisecond; instant() < end; {
		most = max(most, c.Leftovers().Seats)
	}
	close(over)
	all.Wait()
	assert.Equal(t, 1, most, "the holder alone")
	require.NoError(t, h.Release(t.Context()))
	assert.NoError(t, inTime(t, soonEnough, closed, "Close"))
}

// The outer level is given back between the effect of an Extend and its answer. What was promised to the inner level is
// asked for all the same.
func TestAnExtendThatTheReleaseOfTheOuterLevelOvertakes(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(900*time.Millisecond))
	ctx := someone()
	outer, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	inner, err := r.lock.Acquire(ctx, rlock.Lease(time.Second))
	require.NoError(t, err)
	r.proxy.DelayReplies(200*time.Millisecond, renewScript)
	answered := r.proxy.Answered(renewScript)
	extended := outcome(func() error { return inner.Extend(ctx, time.Hour) })
	r.eventually(func() bool { return r.proxy.Answered(renewScript) > answered }, "the extension ran")
	require.NoError(t, outer.Release(ctx))
	require.NoError(t, <-extended)
	r.eventually(func() bool { return r.ttl() > 50*time.Minute }, "the lease is raised")
	r.eventually(func() bool { return time.Until(inner.ValidUntil()) > 50*time.Minute }, "and proven")
	assert.True(t, inner.Held())
	require.NoError(t, inner.Release(ctx))
}
