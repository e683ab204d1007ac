package rlock_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/petermattis/goid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

func TestLockAndUnlock(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t))
	lock, ann := c.NewLock(t.Name()), someone()

	began := time.Now()
	require.NoError(t, lock.Lock(ann))
	assertLease(t, 30*time.Second, began, raw.PTTL(ann, t.Name()).Val())
	assert.Equal(t, 1, levelsIn(t, raw, t.Name()))
	_, err := lock.TryAcquire(someone())
	require.ErrorIs(t, err, rlock.ErrNotAcquired)

	require.NoError(t, lock.Unlock(ann))
	assert.Zero(t, raw.Exists(ann, t.Name()).Val())
	requireNothingLeft(t, c)
}

func TestTheFieldTellsTheOwner(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t), rlock.WithName("billing"), rlock.WithKeyPrefix("shop:"))
	lock, key := c.NewLock(t.Name()), "shop:"+t.Name()
	made := ownerid.New()
	for owner, ctx := range map[string]context.Context{
		strconv.FormatInt(goid.Get(), 10): context.Background(), // as Redisson's thread id
		made.String():                     ownerid.NewContext(context.Background(), made),
	} {
		require.NoError(t, lock.Lock(ctx))
		fields := raw.HKeys(ctx, key).Val()
		require.Len(t, fields, 1)
		assert.True(t, strings.HasPrefix(fields[0], c.ID()+":"+owner+"~"), fields[0])
		state, err := lock.State(ctx)
		require.NoError(t, err)
		assert.Equal(t, c.ID()+":"+owner, state.Owner, "the attempt's number is nobody's business")
		require.NoError(t, lock.Unlock(ctx))
	}
	assert.True(t, strings.HasPrefix(c.ID(), "billing-"))
	assert.Equal(t, t.Name(), lock.Name())
}

func TestTryLockAndTryAcquireDoNotWait(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann, rlock.Lease(time.Minute)))

	for _, opts := range [][]rlock.AcquireOption{nil, {rlock.Wait(0)}, {rlock.Wait(time.Hour), rlock.Wait(0)}} {
		got, err := lock.TryLock(someone(), opts...)
		require.NoError(t, err)
		assert.False(t, got)
		_, err = lock.TryAcquire(someone(), opts...)
		requireTaken(t, err, "try acquire", time.Minute)
	}
	_, err := lock.Acquire(someone(), rlock.Wait(0))
	requireTaken(t, err, "acquire", time.Minute)
	requireTaken(t, lock.Lock(someone(), rlock.Wait(0)), "lock", time.Minute)
	requireTaken(t, lock.Do(someone(), nil, rlock.Wait(0)), "do", time.Minute)
	require.NoError(t, lock.Unlock(ann))
	requireNothingLeft(t, c)
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann, rlock.Lease(time.Minute)))
	for _, wait := range []time.Duration{1, time.Millisecond, 300 * time.Millisecond} {
		began := time.Now()
		got, err := lock.TryLock(someone(), rlock.Wait(wait))
		require.NoError(t, err)
		assert.False(t, got)
		_, err = lock.TryAcquire(someone(), rlock.Wait(wait))
		requireTaken(t, err, "try acquire", time.Minute)
		requireTaken(t, lock.Lock(someone(), rlock.Wait(wait)), "lock", time.Minute)
		assert.GreaterOrEqual(t, time.Since(began), 3*wait)
	}
	require.NoError(t, lock.Unlock(ann))
}

// However short, a wait looks once: false means that the lock is taken.
func TestTheShortestWaitLooksOnce(t *testing.T) {
	t.Parallel()
	lock, ann := newClient(t, redistest.Shared(t).Client(t)).NewLock(t.Name()), someone()
	got, err := lock.TryLock(ann, rlock.Wait(1))
	require.NoError(t, err)
	require.True(t, got, "the lock is free")
	got, err = lock.TryLock(ann, rlock.Wait(1))
	require.NoError(t, err)
	require.True(t, got, "the lock is the owner's")
	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, lock.Unlock(ann))
}

func TestEveryVerbWaitsUntilTheLockIsFree(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	for i, verb := range []func(l *rlock.Lock, ctx context.Context) error{
		func(l *rlock.Lock, ctx context.Context) error { return errors.Join(l.Lock(ctx), l.Unlock(ctx)) },
		func(l *rlock.Lock, ctx context.Context) error {
			got, err := l.TryLock(ctx, rlock.Wait(time.Minute))
			assert.True(t, got)
			return errors.Join(err, l.Unlock(ctx))
		},
		func(l *rlock.Lock, ctx context.Context) error { return acquireAndRelease(l.Acquire(ctx)) },
		func(l *rlock.Lock, ctx context.Context) error {
			return acquireAndRelease(l.TryAcquire(ctx, rlock.Wait(time.Minute)))
		},
		func(l *rlock.Lock, ctx context.Context) error {
			return l.Do(ctx, func(context.Context) error { return nil })
		},
	} {
		lock, ann := c.NewLock(t.Name()+strconv.Itoa(i)), someone()
		require.NoError(t, lock.Lock(ann))
		done := make(chan error, 1)
		go func() { done <- verb(lock, someone()) }()
		eventually(t, func() bool { return c.Leftovers().Queues == 1 }, "it waits")
		require.Empty(t, done)
		require.NoError(t, lock.Unlock(ann))
		require.NoError(t, <-done)
		eventually(t, func() bool { return c.Leftovers().Queues == 0 }, "it left")
	}
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))

	errWhy := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(someone())
	done := make(chan error, 1)
	go func() { done <- lock.Lock(ctx) }()
	eventually(t, func() bool { return c.Leftovers().Channels == 1 }, "it waits")
	cancel(errWhy)
	err := <-done
	require.ErrorIs(t, err, rlock.ErrNotAcquired)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errWhy)
	requireComplaint(t, err, "lock", t.Name(), "shutting down")

	soon, stop := context.WithTimeout(someone(), 10*time.Millisecond)
	defer stop()
	got, err := lock.TryLock(soon, rlock.Wait(time.Hour))
	assert.False(t, got)
	require.ErrorIs(t, err, context.DeadlineExceeded, "unlike the end of Wait, it is an error")
	require.ErrorIs(t, lock.Lock(ended()), rlock.ErrNotAcquired)
	require.NoError(t, lock.Unlock(ann))
	requireNothingLeft(t, c)
}

func TestStateSaysWhatRedisHolds(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), newClient(t, srv.Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	state, err := lock.State(ann)
	require.NoError(t, err)
	assert.Equal(t, rlock.State{}, state, "free")

	began := time.Now()
	require.NoError(t, lock.Lock(ann))
	require.NoError(t, lock.Lock(ann))
	mine, err := lock.State(ann)
	require.NoError(t, err)
	assertLease(t, 30*time.Second, began, mine.TTL)
	assert.True(t, mine.Locked)
	assert.Equal(t, 2, mine.Holds)

	require.NoError(t, raw.Persist(ann, t.Name()).Err())
	others, err := newClient(t, srv.Client(t)).NewLock(t.Name()).State(ann)
	require.NoError(t, err)
	assert.Equal(t, rlock.State{Locked: true, Owner: mine.Owner, TTL: rlock.NoTTL}, others, "the same owner of another Client is another")
	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, lock.Unlock(ann))
}

func TestHeldShowsTheOwnersHold(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	_, held := lock.Held(ann)
	require.False(t, held)

	require.NoError(t, lock.Lock(ann))
	_, held = lock.Held(someone())
	assert.False(t, held, "somebody else's")
	outer, held := lock.Held(ann)
	require.True(t, held)
	require.NoError(t, lock.Lock(ann))
	assert.True(t, outer.Held())
	assert.Zero(t, outer.Token())
	assert.Contains(t, outer.String(), t.Name())
	owner, _ := ownerid.FromContext(ann)
	carried, _ := ownerid.FromContext(outer.Context())
	assert.Equal(t, owner, carried)

	require.NoError(t, lock.Unlock(ann))
	assert.True(t, outer.Held(), "the tenure goes on")
	require.NoError(t, outer.Context().Err())
	require.NoError(t, lock.Unlock(ann))
	assert.False(t, outer.Held())
	require.ErrorIs(t, context.Cause(outer.Context()), rlock.ErrReleased)
	_, held = lock.Held(ann)
	assert.False(t, held)
}

func TestForceUnlockLetsTheNextOneIn(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	here, there := clientOf(t, srv), clientOf(t, srv)
	lock, far, ann := here.NewLock(t.Name()), there.NewLock(t.Name()), someone()
	removed, err := lock.ForceUnlock(ann)
	require.NoError(t, err)
	assert.False(t, removed, "there was nothing")

	hold, err := lock.Acquire(ann)
	require.NoError(t, err)
	waiting := make(chan error, 1)
	go func() { waiting <- far.Lock(ann) }()
	eventually(t, func() bool { return there.Leftovers().Channels == 1 }, "it waits")
	removed, err = lock.ForceUnlock(someone())
	require.NoError(t, err)
	assert.True(t, removed)
	assert.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrLost, "told before the next one could get in")
	require.NoError(t, <-waiting)
	requireLoss(t, hold.Release(ann))

	require.NoError(t, lockState(far, ann, 1), "the loser's release did not touch the next one's hold")
	require.NoError(t, far.Unlock(ann))
	requireNothingLeft(t, here)
}

// requireTaken asserts that an acquire failed because somebody else has the lock, and that the error says for how long.
func requireTaken(t testing.TB, err error, op string, lease time.Duration) {
	t.Helper()
	require.ErrorIs(t, err, rlock.ErrNotAcquired)
	requireComplaint(t, err, op, t.Name(), "not acquired (taken, lease ends in ")
	var e *rlock.Error
	require.ErrorAs(t, err, &e)
	assert.Greater(t, e.TTL, lease/2, "what the holder's lease had left: %v", err)
	assert.LessOrEqual(t, e.TTL, lease)
}

func acquireAndRelease(h *rlock.Hold, err error) error {
	if err != nil {
		return err
	}
	return h.Release(context.Background())
}

// lockState is an error unless Redis knows this many levels of the owner.
func lockState(l *rlock.Lock, ctx context.Context, levels int) error {
	state, err := l.State(ctx)
	if err == nil && state.Holds != levels {
		err = errors.New("not " + strconv.Itoa(levels) + " levels but " + strconv.Itoa(state.Holds))
	}
	return err
}
