package rlock_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Two goroutines of one owner wait, and another owner between them: when the first of the two gets in, the lock is the
// owner's, so the second enters as nested instead of waiting for its turn. Not parallel: it counts who is parked.
func TestAWaiterFollowsTheOtherGoroutineOfItsOwner(t *testing.T) {
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t), rlock.WithFallbackLook(time.Hour))
	lock, ann, bob := c.NewLock(t.Name()), someone(), someone()
	stranger := newClient(t, srv.Client(t)).NewLock(t.Name())
	require.NoError(t, stranger.Lock(ann))
	first, between, second := waitInLine(t, lock, ann, 1), waitInLine(t, lock, bob, 2), waitInLine(t, lock, ann, 3)

	require.NoError(t, stranger.Unlock(ann))
	require.NoError(t, promptly(t, first))
	require.NoError(t, promptly(t, second))
	assert.Equal(t, 2, levelsIn(t, raw, t.Name()))
	require.NoError(t, lock.Unlock(ann))
	require.Empty(t, between, "bob is still out")
	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, promptly(t, between))
	require.NoError(t, lock.Unlock(bob))
	requireNothingLeft(t, c)
}

// TryLock does not queue behind a waiter, and the waiter of the same owner follows it in although nobody wakes it: the
// lock became free without a message.
func TestTryLockWhileAnotherGoroutineOfTheOwnerWaits(t *testing.T) {
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t), rlock.WithFallbackLook(time.Hour))
	lock, ann := c.NewLock(t.Name()), someone()
	stranger := clientOf(t, srv).NewLock(t.Name())
	require.NoError(t, stranger.Lock(ann))
	waiter := waitInLine(t, lock, ann, 1)

	got, err := lock.TryLock(ann)
	require.NoError(t, err)
	require.False(t, got)
	require.NoError(t, raw.Del(ann, t.Name()).Err())
	got, err = lock.TryLock(ann)
	require.NoError(t, err)
	require.True(t, got)
	require.NoError(t, promptly(t, waiter))
	assert.Equal(t, 2, levelsIn(t, raw, t.Name()))

	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, lock.Unlock(ann))
	requireLoss(t, stranger.Unlock(ann))
	requireNothingLeft(t, c)
}

// As many goroutines of one owner as there may be: each has its level, and the count is right throughout.
func TestGoroutinesOfOneOwnerNestAtOnce(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	require.NoError(t, crowd(16, 200, func(i int) error {
		if i%2 == 0 {
			return lock.Do(ann, func(context.Context) error { return nil })
		}
		if err := lock.Lock(ann); err != nil {
			return err
		}
		return lock.Unlock(ann)
	}))
	assert.Equal(t, 1, levelsIn(t, raw, t.Name()))
	require.NoError(t, lock.Unlock(ann))
	requireNothingLeft(t, c)
}

func TestNonReentrantWaiterOfTheSameOwner(t *testing.T) {
	srv := redistest.Shared(t)
	c := newClient(t, srv.Client(t), rlock.WithFallbackLook(time.Hour))
	lock, ann := c.NewLock(t.Name(), rlock.NonReentrant()), someone()
	stranger := newClient(t, srv.Client(t)).NewLock(t.Name())
	require.NoError(t, stranger.Lock(ann))
	first, second := waitInLine(t, lock, ann, 1), waitInLine(t, lock, ann, 2)
	require.NoError(t, stranger.Unlock(ann))
	require.NoError(t, promptly(t, first))
	require.ErrorIs(t, promptly(t, second), rlock.ErrReentry, "it would wait for its own owner")
	require.NoError(t, lock.Unlock(ann))
	requireNothingLeft(t, c)
}

// waitInLine starts a Lock that has to wait, and returns when it is parked as the place-th of the binary. The number is
// absolute because those before it get up for a moment now and then, when their subscription is confirmed for one.
func waitInLine(t testing.TB, l *rlock.Lock, ctx context.Context, place int) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- l.Lock(ctx) }()
	eventually(t, func() bool { return parked() == place }, "it waits")
	require.Empty(t, done)
	return done
}

// parked counts the acquires that sleep, in the whole binary.
func parked() int {
	stacks := make([]byte, 1<<22)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "rlock.(*acquisition).rest(")
}

// promptly is what comes from the channel, which is to happen without any fallback.
func promptly(t testing.TB, from <-chan error) error {
	t.Helper()
	select {
	case err := <-from:
		return err
	case <-time.After(10 * time.Second):
		require.Fail(t, "nothing came")
		return nil
	}
}
