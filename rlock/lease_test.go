package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// cut is what whole milliseconds can cost a lease that is asked for late: the rest of it is cut, and so is the answer to PTTL.
const cut = 2 * time.Millisecond

func TestAFixedLeaseEndsByItself(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t), rlock.WithWatchdogTimeout(300*time.Millisecond))
	lock, ann := c.NewLock(t.Name()), someone()
	const lease = 900 * time.Millisecond
	began := time.Now()
	hold, err := lock.Acquire(ann, rlock.Lease(lease+time.Microsecond))
	require.NoError(t, err)
	assertLease(t, lease, began, raw.PTTL(ann, t.Name()).Val())
	assert.WithinRange(t, hold.ValidUntil(), began.Add(lease-rlock.Margin(lease)), time.Now().Add(lease-rlock.Margin(lease)))

	<-hold.Context().Done()
	assert.GreaterOrEqual(t, time.Since(began), lease-rlock.Margin(lease)-time.Millisecond, "not before its time")
	requireLoss(t, context.Cause(hold.Context()))
	assert.False(t, hold.Held())
	eventually(t, func() bool { return raw.Exists(ann, t.Name()).Val() == 0 }, "the watchdog stays out")
	requireLoss(t, hold.Release(ann))
	requireNothingLeft(t, c)
}

// As in Redisson, where a thread whose lease ran out is nobody. A made owner may stand for several goroutines, so its lost
// level has to be given back first.
func TestAfterAFixedLeaseAGoroutineStartsAfresh(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t))
	lock, made := c.NewLock(t.Name()), someone()
	goroutine := ownerid.NewContext(context.Background(), ownerid.Goroutine())

	lost, err := lock.Acquire(made, rlock.Lease(60*time.Millisecond))
	require.NoError(t, err)
	<-lost.Context().Done()
	require.ErrorIs(t, lock.Lock(made), rlock.ErrLost)
	requireLoss(t, lost.Release(made))
	require.NoError(t, lock.Lock(made))
	require.NoError(t, lock.Unlock(made))

	lost, err = lock.Acquire(goroutine, rlock.Lease(60*time.Millisecond))
	require.NoError(t, err)
	<-lost.Context().Done()
	require.NoError(t, lock.Lock(goroutine))
	assert.Equal(t, 1, levelsIn(t, raw, t.Name()))
	requireLoss(t, lost.Release(goroutine))
	require.NoError(t, lockState(lock, goroutine, 1), "the late release is not the new hold's")
	require.NoError(t, lock.Unlock(goroutine), "which is still known")
	requireNothingLeft(t, c)
}

func TestExtendStartsTheLeaseAnew(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann, rlock.Lease(10*time.Second)))
	hold, held := lock.Held(ann)
	require.True(t, held)

	began := time.Now()
	require.NoError(t, hold.Extend(ann, 20*time.Second))
	assertLease(t, 20*time.Second, began, raw.PTTL(ann, t.Name()).Val())
	assert.WithinRange(t, hold.ValidUntil(), began.Add(19*time.Second), time.Now().Add(19*time.Second))

	require.NoError(t, hold.Extend(ann, 5*time.Second))
	assertLease(t, 20*time.Second, began, raw.PTTL(ann, t.Name()).Val())
	assert.Greater(t, time.Until(hold.ValidUntil()), 10*time.Second, "never shorter")

	require.Error(t, hold.Extend(ann, 0))
	require.ErrorContains(t, hold.Extend(ann, time.Microsecond), "lease: 1µs is shorter than 1ms")
	require.ErrorIs(t, hold.Extend(ended(), time.Minute), context.Canceled)
	require.NoError(t, lock.Unlock(ann))
	require.ErrorIs(t, hold.Extend(ann, time.Minute), rlock.ErrNotHeld)
	require.NotErrorIs(t, hold.Extend(ann, time.Minute), rlock.ErrLost)
	assert.Zero(t, raw.Exists(ann, t.Name()).Val(), "what is given back is not made anew")
}

// Extended under a renewed level, the lease counts from the extension on, but only once that level is given back.
func TestExtendInsideARenewedHold(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	inner, err := lock.Acquire(ann, rlock.Lease(time.Second))
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, inner.Extend(ann, time.Hour))
	require.NoError(t, inner.Extend(ann, time.Minute))
	assert.LessOrEqual(t, raw.PTTL(ann, t.Name()).Val(), 30*time.Second, "the watchdog's")
	require.NoError(t, lock.Unlock(ann))
	assertLease(t, time.Hour, began.Add(-cut), raw.PTTL(ann, t.Name()).Val())
	require.NoError(t, inner.Release(ann))
	requireNothingLeft(t, c)
}

func TestExtendOfWhatCannotBeExtended(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv)
	lock, ann := c.NewLock(t.Name()), someone()
	for _, opts := range [][]rlock.AcquireOption{nil, {rlock.MaxHold(time.Minute)}} {
		hold, err := lock.Acquire(ann, opts...)
		require.NoError(t, err)
		requireComplaint(t, hold.Extend(ann, time.Minute), "extend", t.Name(), "renewed by the watchdog")
		assert.True(t, hold.Held())
		require.NoError(t, hold.Release(ann))
	}

	hold, err := lock.Acquire(ann, rlock.Lease(60*time.Millisecond))
	require.NoError(t, err)
	<-hold.Context().Done()
	require.ErrorIs(t, hold.Extend(ann, time.Minute), rlock.ErrLost)
	requireLoss(t, hold.Release(ann))

	hold, err = lock.Acquire(ann, rlock.Lease(time.Minute))
	require.NoError(t, err)
	raw.Del(ann, t.Name())
	require.ErrorIs(t, hold.Extend(ann, time.Minute), rlock.ErrLost)
	assert.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrLost, "what the server said ends the hold")
	assert.Zero(t, raw.Exists(ann, t.Name()).Val())
	requireLoss(t, hold.Release(ann))
	requireNothingLeft(t, c)
}

// A deleted lock is noticed although there is nothing to renew.
func TestAFixedLeaseIsLookedAfter(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv, rlock.WithWatchdogTimeout(600*time.Millisecond))
	lock, ann := c.NewLock(t.Name()), someone()
	hold, err := lock.Acquire(ann, rlock.Lease(time.Hour))
	require.NoError(t, err)
	raw.Del(ann, t.Name())
	select {
	case <-hold.Context().Done():
		assert.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrLost)
	case <-time.After(10 * time.Second):
		t.Error("the holder was not told")
	}
	requireLoss(t, hold.Release(ann))
}

func TestALeaseInsideARenewedHoldCountsOnceThatIsOver(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	const watchdog, lease = 1500 * time.Millisecond, 10 * time.Second
	raw, c := srv.Raw(t), newClient(t, srv.Client(t), rlock.WithWatchdogTimeout(watchdog))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	began := time.Now()
	inner, err := lock.Acquire(ann, rlock.Lease(lease))
	require.NoError(t, err)
	assert.LessOrEqual(t, raw.PTTL(ann, t.Name()).Val(), watchdog, "a crash now costs no more than the watchdog's time-out")
	time.Sleep(watchdog)
	require.NoError(t, inner.Context().Err())

	require.NoError(t, lock.Unlock(ann)) // out of order: the outer level goes first
	assertLease(t, lease, began.Add(-cut), raw.PTTL(ann, t.Name()).Val())
	assert.Equal(t, 1, levelsIn(t, raw, t.Name()))
	time.Sleep(2 * watchdog)
	assert.True(t, inner.Held())
	require.NoError(t, inner.Release(ann))
	requireNothingLeft(t, c)
}

func TestARenewedLevelInsideALeaseOutlivesIt(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	const watchdog, lease = 1500 * time.Millisecond, time.Second
	raw, c := srv.Raw(t), newClient(t, srv.Client(t), rlock.WithWatchdogTimeout(watchdog))
	lock, ann := c.NewLock(t.Name()), someone()
	outer, err := lock.Acquire(ann, rlock.Lease(lease))
	require.NoError(t, err)
	require.NoError(t, lock.Lock(ann))
	time.Sleep(2 * watchdog)
	assert.True(t, outer.Held(), "nobody else can have got in meanwhile")
	assert.Equal(t, 2, levelsIn(t, raw, t.Name()))

	require.NoError(t, lock.Unlock(ann))
	<-outer.Context().Done() // nobody renews any more
	requireLoss(t, context.Cause(outer.Context()))
	eventually(t, func() bool { return raw.Exists(ann, t.Name()).Val() == 0 }, "the key ends")
	requireLoss(t, outer.Release(ann))
	requireNothingLeft(t, c)
}

// Redis hangs while the last renewed level is given back: until the lease of what is left is confirmed, renewal goes on.
func TestRenewalGoesOnUntilTheLongerLeaseIsConfirmed(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	const watchdog, lease = 3 * time.Second, 20 * time.Second
	c := newClient(t, srv.Client(t, func(o *redis.Options) { o.ReadTimeout = 200 * time.Millisecond }),
		rlock.WithWatchdogTimeout(watchdog), rlock.WithRetryBudget(0))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	began := time.Now()
	inner, err := lock.Acquire(ann, rlock.Lease(lease))
	require.NoError(t, err)

	srv.Pause()
	err = lock.Unlock(ann)
	srv.Resume()
	require.Error(t, err, "the answer is the transport's")
	require.NotErrorIs(t, err, rlock.ErrNotHeld)
	raw := srv.Raw(t)
	eventually(t, func() bool { return raw.PTTL(ann, t.Name()).Val() > watchdog && levelsIn(t, raw, t.Name()) == 1 },
		"the lease is raised, and the level given back")
	assertLease(t, lease, began.Add(-cut), raw.PTTL(ann, t.Name()).Val())
	require.NoError(t, inner.Context().Err())
	require.NoError(t, inner.Release(ann))
	requireNothingLeft(t, c)
}
