package rlock_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

func TestUnlockOfWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann, bob := c.NewLock(t.Name()), someone(), someone()
	requireComplaint(t, lock.Unlock(ann), "unlock", t.Name(), "not held")

	require.NoError(t, lock.Lock(ann))
	err := lock.Unlock(bob)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	assert.NotErrorIs(t, err, rlock.ErrLost, "it never was bob's")
	state, err := lock.State(ann)
	require.NoError(t, err)
	assert.Equal(t, 1, state.Holds, "and ann's is untouched")

	require.NoError(t, lock.Unlock(ann))
	require.ErrorIs(t, lock.Unlock(ann), rlock.ErrNotHeld)
	requireNothingLeft(t, c)
}

func TestReleaseTwiceNeverTouchesAnothersHold(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	first, err := lock.Acquire(ann)
	require.NoError(t, err)
	require.NoError(t, first.Release(ann))
	requireComplaint(t, first.Release(ann), "release", t.Name(), "not held")

	second, err := lock.Acquire(ann) // even the same owner's
	require.NoError(t, err)
	require.ErrorIs(t, first.Release(ann), rlock.ErrNotHeld)
	assert.True(t, second.Held())
	state, err := lock.State(ann)
	require.NoError(t, err)
	assert.Equal(t, 1, state.Holds)
	require.NoError(t, second.Release(ann))
}

func TestReleaseOfWhatHeldShows(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	handle, err := lock.Acquire(ann)
	require.NoError(t, err)

	shown, held := lock.Held(ann)
	require.True(t, held)
	requireComplaint(t, shown.Release(ann), "release", t.Name(), "not held")
	assert.NoError(t, shown.Context().Err())
	state, err := lock.State(ann)
	require.NoError(t, err)
	assert.Equal(t, 2, state.Holds)

	require.NoError(t, handle.Release(ann))
	require.NoError(t, lock.Unlock(ann))
	require.ErrorIs(t, shown.Release(ann), rlock.ErrNotHeld)
}

func TestNonReentrantRefusesTheSecondAndKeepsTheFirst(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t), rlock.WithWatchdogTimeout(1500*time.Millisecond))
	lock, ann := c.NewLock(t.Name(), rlock.NonReentrant()), someone()
	hold, err := lock.Acquire(ann)
	require.NoError(t, err)
	for op, err := range acquireByEveryVerb(lock, ann) {
		require.ErrorIs(t, err, rlock.ErrReentry, op)
		requireComplaint(t, err, op, t.Name(), "not reentrant")
	}
	assert.True(t, hold.Held())
	require.NoError(t, hold.Context().Err())
	state, err := lock.State(ann)
	require.NoError(t, err)
	assert.Equal(t, 1, state.Holds)
	time.Sleep(2 * time.Second) // longer than the lease: it is still renewed
	assert.True(t, hold.Held())

	got, err := c.NewLock(t.Name()).TryLock(ann)
	require.NoError(t, err)
	assert.True(t, got, "a property of the handle: this one is reentrant")
	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, hold.Release(ann))
	requireNothingLeft(t, c)
}

func TestEveryVerbAfterClose(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	hold, err := lock.Acquire(ann, rlock.Lease(time.Minute))
	require.NoError(t, err)
	require.ErrorContains(t, c.Close(ended()), "1 holds not given back")

	began := time.Now()
	for op, err := range acquireByEveryVerb(lock, ann) {
		requireComplaint(t, err, op, t.Name(), "client closed")
		assert.ErrorIs(t, err, rlock.ErrClosed, op)
	}
	_, err = lock.State(ann)
	require.ErrorIs(t, err, rlock.ErrClosed)
	_, err = lock.ForceUnlock(ann)
	require.ErrorIs(t, err, rlock.ErrClosed)
	require.ErrorIs(t, hold.Extend(ann, time.Hour), rlock.ErrClosed)
	require.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrClosed)
	require.ErrorIs(t, hold.Release(ann), rlock.ErrClosed, "it runs out by its lease")
	require.ErrorIs(t, lock.Unlock(ann), rlock.ErrClosed)
	require.ErrorIs(t, lock.Unlock(ann), rlock.ErrNotHeld, "what was given up once is given up")
	assert.Less(t, time.Since(began), 3*time.Second, "nobody tries again on a closed client")
	require.NoError(t, c.Close(ended()), "and Close twice is fine")
}

func TestCloseOfAClientThatDidNothing(t *testing.T) {
	t.Parallel()
	c := newClient(t, unconnected(t))
	require.NoError(t, c.Close(ended()))
	require.NoError(t, c.Close(ended()))
	require.ErrorIs(t, c.NewLock("order:42").Lock(context.Background()), rlock.ErrClosed)
	require.ErrorIs(t, c.NewLock("order:42").Unlock(context.Background()), rlock.ErrNotHeld)
}

func TestAnotherTypeUnderTheKey(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv)
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, raw.Set(ann, t.Name(), "mine", time.Minute).Err())
	t.Cleanup(func() { assert.NoError(t, srv.Raw(t).Del(context.Background(), t.Name()).Err()) })

	began := time.Now()
	for op, err := range acquireByEveryVerb(lock, ann) {
		requireComplaint(t, err, op, t.Name(), "WRONGTYPE")
		assert.NotErrorIs(t, err, rlock.ErrNotAcquired, op)
	}
	_, err := lock.State(ann)
	requireComplaint(t, err, "state", t.Name(), "WRONGTYPE")
	_, err = lock.ForceUnlock(ann)
	requireComplaint(t, err, "force unlock", t.Name(), "WRONGTYPE")
	assert.Less(t, time.Since(began), 3*time.Second, "at once: trying again does not help")
	assert.Equal(t, "mine", raw.Get(ann, t.Name()).Val(), "what is not a lock's is not touched")
	requireNothingLeft(t, c)
}

func TestAnotherTypePutUnderAHeldKey(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv)
	lock, ann := c.NewLock(t.Name()), someone()
	require.NoError(t, lock.Lock(ann))
	require.NoError(t, raw.Set(ann, t.Name(), "mine", time.Minute).Err())
	t.Cleanup(func() { assert.NoError(t, srv.Raw(t).Del(context.Background(), t.Name()).Err()) })

	began := time.Now()
	requireComplaint(t, lock.Unlock(ann), "unlock", t.Name(), "WRONGTYPE")
	assert.Less(t, time.Since(began), 3*time.Second)
	require.ErrorIs(t, lock.Unlock(ann), rlock.ErrNotHeld, "the level is given back all the same")
	assert.Equal(t, "mine", raw.Get(ann, t.Name()).Val())
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.Config("requirepass", "secret"))
	for name, password := range map[string]string{"wrong": "guess", "none": ""} {
		c := newClient(t, srv.Client(t, func(o *redis.Options) { o.Password = password }))
		began := time.Now()
		for op, err := range acquireByEveryVerb(c.NewLock(t.Name()), someone()) {
			requireComplaint(t, err, op, t.Name(), map[string]string{"wrong": "WRONGPASS", "none": "NOAUTH"}[name])
			assert.NotErrorIs(t, err, rlock.ErrNotAcquired, op)
		}
		assert.Less(t, time.Since(began), 3*time.Second, "trying again does not help")
		requireNothingLeft(t, c)
	}
}

func TestNoPermission(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	for user, rules := range map[string][]string{
		"keyless": {"on", ">secret", "~other:*", "&*", "+@all"},
		"mute":    {"on", ">secret", "~*", "&*", "+@all", "-eval", "-evalsha"},
	} {
		require.NoError(t, raw.ACLSetUser(t.Context(), user, rules...).Err())
		c := newClient(t, srv.Client(t, func(o *redis.Options) { o.Username, o.Password = user, "secret" }))
		lock, ann := c.NewLock(t.Name()), someone()
		began := time.Now()
		for op, err := range acquireByEveryVerb(lock, ann) {
			requireComplaint(t, err, op, t.Name(), "NOPERM")
			assert.NotErrorIs(t, err, rlock.ErrNotAcquired, op)
		}
		_, err := lock.State(ann)
		requireComplaint(t, err, "state", t.Name(), "NOPERM")
		_, err = lock.ForceUnlock(ann)
		requireComplaint(t, err, "force unlock", t.Name(), "NOPERM")
		assert.Less(t, time.Since(began), 3*time.Second, "trying again does not help")
		assert.Zero(t, raw.Exists(t.Context(), t.Name()).Val())
		requireNothingLeft(t, c)
	}
}

// Long.MAX_VALUE is how ported code says for ever.
func TestTheLongestWaitIsAWait(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ann, bob := c.NewLock(t.Name()), someone(), someone()
	require.NoError(t, lock.Lock(ann))
	type answer struct {
		got bool
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		got, err := lock.TryLock(bob, rlock.Wait(math.MaxInt64))
		answers <- answer{got, err}
	}()
	eventually(t, func() bool { return c.Leftovers().Channels > 0 || len(answers) > 0 }, "bob waits")
	require.Empty(t, answers, "it did not wait")
	require.NoError(t, lock.Unlock(ann))
	assert.Equal(t, answer{true, nil}, <-answers)
	require.NoError(t, lock.Unlock(bob))
}
