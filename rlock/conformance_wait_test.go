package rlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// The scenarios with bounds in milliseconds run alone, before the parallel tests.

// Scaled to a second: [990, 1350] for [2990, 3350]. The original forgets to look at the result.
func TestConformance_L06_T_WAIT(t *testing.T) {
	srv := redistest.Shared(t)
	gone := clientOf(t, srv)
	require.NoError(t, gone.NewLock(t.Name()).Lock(t.Context()))
	require.Error(t, gone.Close(ended()), "it closes although it holds")

	began := time.Now()
	got, err := clientOf(t, srv).NewLock(t.Name()).TryLock(t.Context(), rlock.Wait(time.Second))
	elapsed := time.Since(began)
	require.NoError(t, err)
	assert.False(t, got)
	assert.GreaterOrEqual(t, elapsed, 990*time.Millisecond)
	assert.LessOrEqual(t, elapsed, 1350*time.Millisecond)
}

// A lease of 500 ms for 2 s, with the original's 20 ms above it, and a lower bound that it lacks. Whatever else runs on the
// machine can only make B later, so one round of three within the upper bound proves it; the lower one holds in each.
func TestConformance_L09_T_EXPIRE(t *testing.T) {
	const lease = 500 * time.Millisecond
	srv := redistest.Shared(t)
	a, b := clientOf(t, srv).NewLock(t.Name()), clientOf(t, srv).NewLock(t.Name())
	soonest := time.Hour
	for range 10 { // of which one meets an idle moment of the machine
		elapsed, err := expire(t, a, b, lease)
		require.NoError(t, err)
		require.GreaterOrEqual(t, elapsed, lease-10*time.Millisecond)
		soonest = min(soonest, elapsed)
		requireLoss(t, a.Unlock(t.Context()))
		if soonest < lease+20*time.Millisecond {
			return
		}
	}
	assert.Less(t, soonest, lease+20*time.Millisecond)
}

// expire lets the lease of a run out and measures when b gets in.
func expire(t *testing.T, a, b *rlock.Lock, lease time.Duration) (time.Duration, error) {
	t.Helper()
	began := time.Now()
	require.NoError(t, a.Lock(t.Context(), rlock.Lease(lease)))
	held, ok := a.Held(t.Context())
	require.True(t, ok)
	return elsewhere(func() (time.Duration, error) {
		err := b.Lock(t.Context())
		elapsed := time.Since(began)
		assert.False(t, held.Held(), "A was told before B got in")
		if err == nil {
			err = b.Unlock(t.Context())
		}
		return elapsed, err
	})
}

// Two contended names and four callers, none of whom may lose his 100 ms to the setting-up of subscriptions. The original
// has one connection with room for one channel; here that is always so, save that a connection has room for all.
func TestConformance_L02_T_SINGLESUB(t *testing.T) {
	c := clientOf(t, redistest.Shared(t))
	for _, round := range []string{"_0", "_1"} {
		locks := []*rlock.Lock{c.NewLock(t.Name() + "/Lock1" + round), c.NewLock(t.Name() + "/Lock2" + round)}
		var got sync.Map
		err := crowd(4, 4, func(i int) error {
			l := locks[i%2]
			ok, err := l.TryLock(t.Context(), rlock.Wait(100*time.Millisecond))
			if err != nil || !ok {
				return err
			}
			got.Store(i, true)
			return l.Unlock(t.Context())
		})
		require.NoError(t, err)
		for i := range 4 {
			_, ok := got.Load(i)
			assert.True(t, ok, "task %d of round %s", i, round)
		}
	}
}

// Go has no interruption. What Redisson's lock() means for it is a wait whose context cannot end: context.WithoutCancel
// makes one of any other. A context that does end ends the wait, and nothing but the wait.
func TestConformance_L07_LockUninterruptibly(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	l := c.NewLock(t.Name())
	held, stop := context.WithCancel(t.Context())
	h, err := l.Acquire(context.WithoutCancel(held), rlock.Lease(10*time.Minute))
	require.NoError(t, err)

	waiting, interrupt := context.WithCancel(t.Context())
	patient, impatient := make(chan error, 1), make(chan error, 1)
	go func() {
		err := l.Lock(context.WithoutCancel(waiting), rlock.Lease(10*time.Minute))
		if err == nil {
			err = l.Unlock(waiting)
		}
		patient <- err
	}()
	go func() { impatient <- l.Lock(waiting, rlock.Lease(10*time.Minute)) }()
	eventually(t, func() bool { return c.Leftovers().Queues == 1 && c.Leftovers().Seats == 3 }, "two wait")

	stop()
	interrupt()
	err = <-impatient
	require.ErrorIs(t, err, rlock.ErrNotAcquired)
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, h.Held(), "a context that ends releases nothing")
	select {
	case err := <-patient:
		t.Fatalf("the uninterruptible wait ended while the lock was held: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(t, h.Release(held))
	require.NoError(t, <-patient)
	requireNothingLeft(t, c)
}
