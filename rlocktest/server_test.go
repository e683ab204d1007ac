package rlocktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
	"github.com/rlock-go/rlock/rlocktest"
)

func TestARivalExcludesTheClient(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	held := acquire(t, srv.Rival(), "order:42")

	ok, err := srv.Client().NewLock("order:42").TryLock(t.Context())
	require.NoError(t, err)
	assert.False(t, ok)

	require.NoError(t, held.Release(t.Context()))
	ok, err = srv.Client().NewLock("order:42").TryLock(t.Context())
	require.NoError(t, err)
	assert.True(t, ok)
	require.NoError(t, srv.Client().NewLock("order:42").Unlock(t.Context()))
}

func TestAWaiterIsWokenByTheUnlock(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	held := acquire(t, srv.Rival(), "order:42")
	done := make(chan error, 1)
	go func() {
		done <- srv.Client().NewLock("order:42").Do(t.Context(), func(context.Context) error { return nil })
	}()
	require.Eventually(t, func() bool {
		return srv.Redis().PubSubNumSub(t.Context(), "redisson_lock__channel:{order:42}").Val()["redisson_lock__channel:{order:42}"] == 1
	}, soon, time.Millisecond)

	require.NoError(t, held.Release(t.Context()))
	within(t, func(ctx context.Context) {
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-ctx.Done():
		}
	})
}

func TestTimeRuns(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	fixed := acquire(t, srv.Client(), "order:42", rlock.Lease(300*time.Millisecond))

	before, err := srv.Client().NewLock("order:42").State(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, awaitEnd(t, fixed), rlock.ErrLost)
	within(t, func(ctx context.Context) {
		next, err := srv.Rival().NewLock("order:42").Acquire(ctx)
		require.NoError(t, err)
		assert.NoError(t, next.Release(ctx))
	})
	assert.Positive(t, before.TTL)
	assert.LessOrEqual(t, before.TTL, 300*time.Millisecond)
	assert.ErrorIs(t, fixed.Release(t.Context()), rlock.ErrLost)
}

func TestTheWatchdogKeepsAHold(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	srv := rlocktest.New(t, rlock.WithWatchdogTimeout(timeout))
	held := acquire(t, srv.Client(), "order:42")

	select {
	case <-held.Context().Done():
		require.Fail(t, "lost", context.Cause(held.Context()))
	case <-time.After(2 * timeout): // what is shown is that time passes and nothing happens
	}
	assert.NoError(t, held.Release(t.Context()))
}

func TestRivalsInheritTheOptions(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t, rlock.WithKeyPrefix("shop:"), rlock.WithName("shop"))
	held := acquire(t, srv.Rival(rlock.WithName("rival")), "order:42")

	assert.Equal(t, int64(1), srv.Redis().Exists(t.Context(), "shop:order:42").Val())
	state, err := srv.Client().NewLock("order:42").State(t.Context())
	require.NoError(t, err)
	assert.Contains(t, state.Owner, "rival-")
	assert.NoError(t, held.Release(t.Context()))
}

func TestTheAddressLeadsToTheSameRedis(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	held := acquire(t, srv.Client(), "order:42")
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	defer func() { assert.NoError(t, rdb.Close()) }()

	assert.Equal(t, int64(1), rdb.Exists(t.Context(), "order:42").Val())
	assert.NoError(t, held.Release(t.Context()))
}

func TestServersAreApart(t *testing.T) {
	t.Parallel()
	one, other := rlocktest.New(t), rlocktest.New(t)
	held := acquire(t, one.Client(), "order:42")
	same := acquire(t, other.Client(), "order:42")
	assert.NoError(t, held.Release(t.Context()))
	assert.NoError(t, same.Release(t.Context()))
}

func TestABadOptionEndsTheTest(t *testing.T) {
	t.Parallel()
	after := false
	verdict := play(func(t *script) {
		rlocktest.New(t, rlock.WithWatchdogTimeout(0))
		after = true
	})
	require.Len(t, verdict.errors, 1)
	assert.Contains(t, verdict.errors[0], "WithWatchdogTimeout")
	assert.False(t, after)
}
