package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

func TestUnlockNeverTakesALevelOfAcquire(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	below, err := lock.Acquire(ann)
	require.NoError(t, err)
	require.NoError(t, lock.Lock(ann))
	above, err := lock.TryAcquire(ann)
	require.NoError(t, err)

	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, lockState(lock, ann, 2))
	require.ErrorIs(t, lock.Unlock(ann), rlock.ErrNotHeld)
	require.NoError(t, lockState(lock, ann, 2))
	assert.True(t, below.Held())
	assert.True(t, above.Held())
	require.NoError(t, above.Release(ann))
	require.NoError(t, below.Release(ann))
	requireNothingLeft(t, c)
}

func TestUnlockNeverTakesALevelOfDo(t *testing.T) {
	t.Parallel()
	lock := newClient(t, redistest.Shared(t).Client(t)).NewLock(t.Name())
	require.NoError(t, lock.Do(someone(), func(ctx context.Context) error {
		require.ErrorIs(t, lock.Unlock(ctx), rlock.ErrNotHeld)
		require.NoError(t, lock.Lock(ctx))
		require.NoError(t, lock.Unlock(ctx))
		require.ErrorIs(t, lock.Unlock(ctx), rlock.ErrNotHeld)
		return lockState(lock, ctx, 1)
	}))
}

func TestAHoldGivesBackItsOwnLevelAlone(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	hold, err := lock.Acquire(ann)
	require.NoError(t, err)
	got, err := lock.TryLock(ann)
	require.NoError(t, err)
	require.True(t, got)

	require.NoError(t, hold.Release(ann))
	require.ErrorIs(t, hold.Release(ann), rlock.ErrNotHeld)
	require.NoError(t, lockState(lock, ann, 2))
	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, lock.Unlock(ann))
	require.ErrorIs(t, lock.Unlock(ann), rlock.ErrNotHeld)
	requireNothingLeft(t, c)
}

// The levels differ in how they live, which shows the one that Unlock took: had it taken the outer one, nobody would renew.
func TestUnlockTakesTheNewestLevel(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t), rlock.WithWatchdogTimeout(1500*time.Millisecond))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	require.NoError(t, lock.Lock(ann, rlock.Lease(1600*time.Millisecond)))
	require.NoError(t, lock.Unlock(ann))

	shown, held := lock.Held(ann)
	require.True(t, held)
	assert.ErrorContains(t, shown.Extend(ann, time.Second), "renewed by the watchdog", "the level that is left is the outer one")
	time.Sleep(3500 * time.Millisecond)
	assert.True(t, shown.Held())
	require.NoError(t, lock.Unlock(ann))
}

func TestReleasesOutOfOrder(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	holds := make([]*rlock.Hold, 4)
	for i := range holds {
		var err error
		holds[i], err = lock.Acquire(ann)
		require.NoError(t, err)
		assert.Equal(t, i+1, levelsIn(t, raw, t.Name()))
	}
	open := map[*rlock.Hold]bool{holds[0]: true, holds[1]: true, holds[2]: true, holds[3]: true}
	for n, i := range []int{0, 3, 1, 2} {
		require.NoError(t, holds[i].Release(ann))
		delete(open, holds[i])
		assert.Equal(t, 3-n, levelsIn(t, raw, t.Name()))
		for _, h := range holds {
			assert.Equal(t, open[h], h.Held())
			assert.Equal(t, open[h], context.Cause(h.Context()) == nil)
		}
		assert.ErrorIs(t, context.Cause(holds[i].Context()), rlock.ErrReleased)
	}
	requireNothingLeft(t, c)
}

// The footgun of the verbs by owner, as documented at Lock: an Unlock that was deferred before the error was looked at
// belongs to no level of its own, so it gives back the caller's.
func TestADeferredUnlockAfterAFailedNestedLockGivesBackTheOuterLevel(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	careless := func(ctx context.Context) error {
		err := lock.Lock(ctx)
		defer func() { assert.NoError(t, lock.Unlock(ctx)) }()
		return err
	}
	require.NoError(t, lock.Lock(ann))
	dead, cancel := context.WithCancel(ann)
	cancel()
	require.ErrorIs(t, careless(dead), context.Canceled)
	require.NoError(t, lockState(lock, ann, 0))
	require.ErrorIs(t, lock.Unlock(ann), rlock.ErrNotHeld, "the caller finds out here")
	requireNothingLeft(t, c)
}

func TestAHoldIsReleasedFromAnyGoroutineWithAnyContext(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock := c.NewLock(t.Name())
	hold, err := lock.Acquire(context.Background())
	require.NoError(t, err)
	_, err = elsewhere(func() (any, error) { return nil, hold.Release(ended()) })
	require.NoError(t, err, "giving back is not cancellable")

	require.NoError(t, lock.Lock(context.Background()))
	require.NoError(t, lock.Unlock(ended()), "nor is Unlock: of ctx only the owner counts")
	requireNothingLeft(t, c)
}
