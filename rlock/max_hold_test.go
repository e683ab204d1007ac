package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

func TestMaxHoldIsRenewedAndEnds(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	const watchdog, limit = 1500 * time.Millisecond, 2200 * time.Millisecond // a renewal not cut short would end at 3 s
	raw, c := srv.Raw(t), clientOf(t, srv, rlock.WithWatchdogTimeout(watchdog))
	lock, ann := c.NewLock(t.Name()), someone()
	began := time.Now()
	hold, err := lock.Acquire(ann, rlock.MaxHold(limit))
	require.NoError(t, err)
	latest := time.Now().Add(limit)

	<-hold.Context().Done()
	assert.GreaterOrEqual(t, time.Since(began), limit-rlock.Margin(watchdog)-time.Millisecond, "renewed beyond one lease")
	requireMaxHold(t, context.Cause(hold.Context()))
	assert.False(t, hold.Held())
	assert.False(t, hold.ValidUntil().After(time.Now().Add(time.Millisecond)))
	requireGoneBy(t, raw, latest)
	require.ErrorIs(t, lock.Lock(ann), rlock.ErrMaxHold, "the lost level is to be given back first")
	requireMaxHold(t, hold.Release(ann))
	requireNothingLeft(t, c)
}

func TestMaxHoldShorterThanTheWatchdogCutsTheFirstLease(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv)
	lock, ann := c.NewLock(t.Name()), someone()
	began := time.Now()
	require.NoError(t, lock.Lock(ann, rlock.MaxHold(800*time.Millisecond)))
	assertLease(t, 800*time.Millisecond, began, raw.PTTL(ann, t.Name()).Val())
	hold, held := lock.Held(ann)
	require.True(t, held)
	<-hold.Context().Done()
	requireMaxHold(t, context.Cause(hold.Context()))
	requireMaxHold(t, lock.Unlock(ann))
	require.ErrorIs(t, lock.Unlock(ann), rlock.ErrNotHeld)
}

func TestMaxHoldEndsNoHoldThatIsGivenBackBefore(t *testing.T) {
	t.Parallel()
	lock, ann := newClient(t, redistest.Shared(t).Client(t)).NewLock(t.Name()), someone()
	hold, err := lock.Acquire(ann, rlock.MaxHold(time.Minute))
	require.NoError(t, err)
	require.NoError(t, hold.Release(ann))
	assert.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrReleased)
}

func TestMaxHoldInsideAnUnlimitedHoldEndsItsLevelAlone(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv, rlock.WithWatchdogTimeout(1500*time.Millisecond))
	lock, ann := c.NewLock(t.Name()), someone()
	outer, err := lock.Acquire(ann)
	require.NoError(t, err)
	inner, err := lock.Acquire(ann, rlock.MaxHold(300*time.Millisecond))
	require.NoError(t, err)
	require.NoError(t, lock.Lock(ann, rlock.MaxHold(300*time.Millisecond)))

	<-inner.Context().Done()
	requireMaxHold(t, context.Cause(inner.Context()))
	assert.False(t, inner.Held())
	assert.True(t, outer.Held())
	time.Sleep(2 * time.Second) // longer than the lease
	assert.True(t, outer.Held())
	require.NoError(t, outer.Context().Err())
	assert.Equal(t, 3, levelsIn(t, raw, t.Name()), "nobody has given anything back")

	requireMaxHold(t, lock.Unlock(ann))
	requireMaxHold(t, inner.Release(ann))
	assert.Equal(t, 1, levelsIn(t, raw, t.Name()), "the levels are given back all the same")
	require.NoError(t, outer.Release(ann))
	requireNothingLeft(t, c)
}

func TestMaxHoldInsideAFixedLease(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	const lease, limit = 4 * time.Second, 500 * time.Millisecond
	raw, c := srv.Raw(t), clientOf(t, srv, rlock.WithWatchdogTimeout(600*time.Millisecond))
	lock, ann := c.NewLock(t.Name()), someone()
	began := time.Now()
	outer, err := lock.Acquire(ann, rlock.Lease(lease))
	require.NoError(t, err)
	inner, err := lock.Acquire(ann, rlock.MaxHold(limit))
	require.NoError(t, err)
	assertLease(t, lease, began.Add(-cut), raw.PTTL(ann, t.Name()).Val())

	<-inner.Context().Done()
	requireMaxHold(t, context.Cause(inner.Context()))
	time.Sleep(time.Second)
	assert.True(t, outer.Held())
	requireMaxHold(t, inner.Release(ann))
	assertLease(t, lease, began.Add(-cut), raw.PTTL(ann, t.Name()).Val())
	require.NoError(t, outer.Release(ann))
	requireNothingLeft(t, c)
}

// The lease was promised: that the outer level ends before it takes nothing away.
func TestAFixedLeaseInsideAMaxHoldOutlivesIt(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	const watchdog, limit, lease = 1500 * time.Millisecond, 1500 * time.Millisecond, 10 * time.Second
	raw, c := srv.Raw(t), clientOf(t, srv, rlock.WithWatchdogTimeout(watchdog))
	lock, ann := c.NewLock(t.Name()), someone()
	outer, err := lock.Acquire(ann, rlock.MaxHold(limit))
	require.NoError(t, err)
	began := time.Now()
	inner, err := lock.Acquire(ann, rlock.Lease(lease))
	require.NoError(t, err)

	<-outer.Context().Done()
	requireMaxHold(t, context.Cause(outer.Context()))
	time.Sleep(2 * watchdog)
	assert.True(t, inner.Held())
	require.NoError(t, inner.Context().Err())
	assertLease(t, lease, began.Add(-cut), raw.PTTL(ann, t.Name()).Val())
	requireMaxHold(t, outer.Release(ann))
	require.NoError(t, inner.Release(ann))
	requireNothingLeft(t, c)
}

// By the time d has passed the lock is free, also if levels came and went inside and the holder does nothing.
func TestNestedLevelsThatAreGivenBackDoNotProlongAMaxHold(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv)
	lock, ann := c.NewLock(t.Name()), someone()
	const limit = 1200 * time.Millisecond
	hold, err := lock.Acquire(ann, rlock.MaxHold(limit))
	require.NoError(t, err)
	latest := time.Now().Add(limit)
	require.NoError(t, lock.Do(ann, func(context.Context) error { return nil }))

	<-hold.Context().Done()
	requireMaxHold(t, context.Cause(hold.Context()))
	requireGoneBy(t, raw, latest)
	requireMaxHold(t, hold.Release(ann))
}

func TestAMaxHoldInsideAMaxHold(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv)
	lock, ann := c.NewLock(t.Name()), someone()
	const limit = 1200 * time.Millisecond
	outer, err := lock.Acquire(ann, rlock.MaxHold(limit))
	require.NoError(t, err)
	latest := time.Now().Add(limit)
	inner, err := lock.Acquire(ann, rlock.MaxHold(limit/2))
	require.NoError(t, err)

	<-inner.Context().Done()
	assert.True(t, outer.Held())
	<-outer.Context().Done()
	requireMaxHold(t, context.Cause(outer.Context()))
	requireGoneBy(t, raw, latest)
	requireMaxHold(t, inner.Release(ann))
	requireMaxHold(t, outer.Release(ann))
}

// The outer level ended while the inner one went on; once that is given back, nobody holds the lock any more.
func TestAMaxHoldThatIsOverDoesNotHoldTheLock(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv)
	lock, ann := c.NewLock(t.Name()), someone()
	outer, err := lock.Acquire(ann, rlock.MaxHold(300*time.Millisecond))
	require.NoError(t, err)
	require.NoError(t, lock.Lock(ann))
	<-outer.Context().Done()
	require.NoError(t, lock.Unlock(ann), "the inner level was held to the end")
	requireGoneBy(t, raw, time.Now())
	requireMaxHold(t, outer.Release(ann))
}

// requireMaxHold asserts that an error is the end by MaxHold, which is a loss as well.
func requireMaxHold(t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, rlock.ErrMaxHold)
	requireLoss(t, err)
}

// requireGoneBy asserts that the test's lock is free at that time. What a busy machine adds is granted: the commands
// themselves take time.
func requireGoneBy(t testing.TB, rdb redis.UniversalClient, latest time.Time) {
	t.Helper()
	const busy = 500 * time.Millisecond
	for rdb.Exists(context.Background(), t.Name()).Val() != 0 {
		require.WithinRange(t, time.Now(), time.Time{}, latest.Add(busy),
			"the lock lives on: %v", rdb.PTTL(context.Background(), t.Name()).Val())
		time.Sleep(10 * time.Millisecond)
	}
}
