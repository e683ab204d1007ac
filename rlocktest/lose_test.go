package rlocktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
	"github.com/rlock-go/rlock/rlocktest"
)

func TestLoseEndsTheHoldersContext(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]rlock.AcquireOption{
		"renewed": nil, "fixed": {rlock.Lease(time.Hour)}, "max hold": {rlock.MaxHold(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			srv := rlocktest.New(t)
			held := acquire(t, srv.Client(), "order:42", opts...)
			inner, err := srv.Client().NewLock("order:42").Acquire(held.Context())
			require.NoError(t, err)
			innerCtx := inner.Context()

			srv.Lose("order:42")
			require.Error(t, innerCtx.Err(), "at once, not with the next renewal")
			assert.ErrorIs(t, context.Cause(innerCtx), rlock.ErrLost)
			assert.ErrorIs(t, context.Cause(held.Context()), rlock.ErrLost)
			assert.Zero(t, srv.Redis().Exists(t.Context(), "order:42").Val())
			assert.ErrorIs(t, inner.Release(t.Context()), rlock.ErrLost)
			assert.ErrorIs(t, held.Release(t.Context()), rlock.ErrLost)
		})
	}
}

func TestLoseFindsTheHolderAmongTheClients(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t, rlock.WithKeyPrefix("shop:"), rlock.WithExplicitOwners())
	for _, c := range []*rlock.Client{srv.Client(), srv.Rival(), srv.Rival(rlock.WithKeyPrefix("other:"))} {
		held := acquire(t, c, "order:42")
		ctx := held.Context()
		srv.Lose("order:42")
		require.Error(t, ctx.Err())
		assert.ErrorIs(t, held.Release(t.Context()), rlock.ErrLost)
	}
}

func TestLoseTakesTheGoroutinesHold(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	lock := srv.Client().NewLock("order:42")
	require.NoError(t, lock.Lock(t.Context()))
	held, ok := lock.Held(t.Context())
	require.True(t, ok)

	srv.Lose("order:42")
	assert.False(t, held.Held())
	assert.ErrorIs(t, lock.Unlock(t.Context()), rlock.ErrLost)
}

func TestLoseWaitsUntilTheLockIsHeld(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	done := make(chan error, 1)
	go func() {
		done <- srv.Client().NewLock("order:42").Do(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	srv.Lose("order:42")
	assert.ErrorIs(t, <-done, rlock.ErrLost)
}

func TestLoseLetsTheNextOneIn(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	held := acquire(t, srv.Client(), "order:42")
	waiter := make(chan error, 1)
	go func() {
		waiter <- srv.Rival().NewLock("order:42").Do(t.Context(), func(context.Context) error { return nil })
	}()
	srv.Lose("order:42")
	assert.NoError(t, <-waiter)
	assert.ErrorIs(t, held.Release(t.Context()), rlock.ErrLost)
}

func TestLoseTakesAStrangersHoldToo(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	require.NoError(t, srv.Redis().HSet(t.Context(), "order:42", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", 1).Err())
	srv.Lose("order:42")
	assert.Zero(t, srv.Redis().Exists(t.Context(), "order:42").Val())
}

func TestALockThatNobodyTakesEndsTheTest(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(*rlocktest.Server, string){
		"AwaitHeld": (*rlocktest.Server).AwaitHeld, "Lose": (*rlocktest.Server).Lose,
	} {
		t.Run(name, func(t *testing.T) {
			verdict := play(func(t *script) {
				srv := rlocktest.New(t)
				srv.SetPatience(50 * time.Millisecond)
				wait(srv, "oder:42")
				t.Errorf("it went on")
			})
			require.Len(t, verdict.errors, 1)
			assert.Contains(t, verdict.errors[0], `nobody has taken "oder:42"`)
		})
	}
}

func TestLoseFromARedisThatFailsEndsTheTest(t *testing.T) {
	t.Parallel()
	verdict := play(func(t *script) {
		srv := rlocktest.New(t)
		srv.Fail("")
		srv.Lose("order:42")
		t.Errorf("it went on")
	})
	require.Len(t, verdict.errors, 1)
	assert.Contains(t, verdict.errors[0], "as told to by the test")
}
