package rlock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

func TestDoReleasesHoweverTheFunctionEnds(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	errWork := errors.New("no funds")

	require.NoError(t, lock.Do(ann, func(ctx context.Context) error { return lockState(lock, ctx, 1) }))
	require.NoError(t, lockState(lock, ann, 0))
	require.Equal(t, errors.Join(errWork).Error(), lock.Do(ann, func(context.Context) error { return errWork }).Error())
	require.NoError(t, lockState(lock, ann, 0))
	require.PanicsWithError(t, "no funds", func() { _ = lock.Do(ann, func(context.Context) error { panic(errWork) }) })
	require.NoError(t, lockState(lock, ann, 0))

	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = lock.Do(ann, func(context.Context) error { runtime.Goexit(); return nil }) // as t.FailNow does
	}()
	<-gone
	require.NoError(t, lockState(lock, ann, 0))
	requireNothingLeft(t, c)
}

func TestDoHandsOnTheOwnerAndTheEndOfTheHold(t *testing.T) {
	t.Parallel()
	lock := newClient(t, redistest.Shared(t).Client(t)).NewLock(t.Name())
	type key struct{}
	var inside context.Context
	require.NoError(t, lock.Do(context.WithValue(context.Background(), key{}, "kept"), func(ctx context.Context) error {
		inside = ctx
		owner, carried := ownerid.FromContext(ctx)
		assert.True(t, carried, "the goroutine is the owner, and whoever gets ctx is told")
		assert.Equal(t, ownerid.Goroutine(), owner)
		assert.Equal(t, "kept", ctx.Value(key{}))
		assert.NoError(t, ctx.Err())
		return nil
	}))
	assert.ErrorIs(t, context.Cause(inside), rlock.ErrReleased)
}

func TestDoSaysThatTheHoldWasLost(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv, rlock.WithWatchdogTimeout(600*time.Millisecond))
	lock, ann, errWork := c.NewLock(t.Name()), someone(), errors.New("no funds")
	for _, fnErr := range []error{nil, errWork} {
		err := lock.Do(ann, func(ctx context.Context) error {
			raw.Del(ann, t.Name())
			<-ctx.Done() // at the next renewal
			assert.ErrorIs(t, context.Cause(ctx), rlock.ErrLost)
			return fnErr
		})
		requireLoss(t, err)
		if fnErr != nil {
			require.ErrorIs(t, err, fnErr, "both are said")
		}
	}
	err := lock.Do(ann, func(ctx context.Context) error {
		raw.Del(ann, t.Name())
		return nil // before any renewal
	})
	requireLoss(t, err)
	requireNothingLeft(t, c)
}

func TestDoDoesNotCallWithoutTheLock(t *testing.T) {
	t.Parallel()
	lock, ann := newClient(t, redistest.Shared(t).Client(t)).NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	never := func(context.Context) error { panic("called without the lock") }
	require.ErrorIs(t, lock.Do(someone(), never, rlock.Wait(0)), rlock.ErrNotAcquired)
	require.ErrorIs(t, lock.Do(someone(), never, rlock.Wait(20*time.Millisecond)), rlock.ErrNotAcquired)
	require.ErrorIs(t, lock.Do(ended(), never), context.Canceled)
	require.NoError(t, lock.Unlock(ann))
}

func TestACancelledContextNeverReleases(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t), rlock.WithWatchdogTimeout(1500*time.Millisecond))
	lock, ann := c.NewLock(t.Name()), someone()
	ctx, cancel := context.WithCancelCause(ann)
	errWhy := errors.New("the client hung up")

	require.NoError(t, lock.Do(ctx, func(inside context.Context) error {
		hold, err := lock.Acquire(ctx)
		require.NoError(t, err)
		cancel(errWhy)
		<-inside.Done()
		assert.ErrorIs(t, context.Cause(inside), errWhy)
		assert.ErrorIs(t, context.Cause(hold.Context()), errWhy, "a derived context, as any other")
		time.Sleep(2 * time.Second) // longer than the lease
		assert.True(t, hold.Held(), "but the hold goes on, and is renewed")
		assert.Equal(t, 2, levelsIn(t, raw, t.Name()))
		return hold.Release(ctx)
	}), "and it is given back under the dead context")
	requireNothingLeft(t, c)
}

func TestTheContextOfAHoldIsOneAndSaysWhyItEnded(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	lock, ann := c.NewLock(t.Name()), someone()
	hold, err := lock.Acquire(ann)
	require.NoError(t, err)
	require.Equal(t, hold.Context(), hold.Context())
	require.NoError(t, hold.Release(ann))
	require.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrReleased)

	hold, err = lock.Acquire(ann)
	require.NoError(t, err)
	require.NoError(t, hold.Release(ann))
	assert.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrReleased, "also if nobody asked for it before")

	hold, err = lock.Acquire(ann)
	require.NoError(t, err)
	_, err = lock.ForceUnlock(ann)
	require.NoError(t, err)
	cause := context.Cause(hold.Context())
	requireLoss(t, hold.Release(ann))
	assert.ErrorIs(t, cause, rlock.ErrLost)
	assert.Equal(t, cause, context.Cause(hold.Context()), "the first reason stands")
}
