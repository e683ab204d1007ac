package rlocktest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
	"github.com/rlock-go/rlock/rlocktest"
)

func TestALockLeftHeldFailsTheTest(t *testing.T) {
	t.Parallel()
	verdict := play(func(t *script) {
		srv := rlocktest.New(t)
		if err := srv.Rival(rlock.WithName("rival")).NewLock("order:42").Lock(someone(t.Context())); err != nil {
			t.Fatalf("%v", err)
		}
	})
	require.Len(t, verdict.errors, 1)
	assert.Contains(t, verdict.errors[0], "order:42 by rival-")
	assert.Contains(t, verdict.errors[0], "not given back")
}

func TestALostLockHasToBeUnlockedToo(t *testing.T) {
	t.Parallel()
	verdict := play(func(t *script) {
		srv := rlocktest.New(t)
		if err := srv.Client().NewLock("order:42").Lock(someone(t.Context())); err != nil {
			t.Fatalf("%v", err)
		}
		srv.Lose("order:42")
	})
	require.Len(t, verdict.errors, 1)
	assert.Contains(t, verdict.errors[0], "lost, and not unlocked")
}

func TestATestThatFailedAnywayIsOnlyTold(t *testing.T) {
	t.Parallel()
	verdict := play(func(t *script) {
		srv := rlocktest.New(t)
		if err := srv.Client().NewLock("order:42").Lock(someone(t.Context())); err != nil {
			t.Fatalf("%v", err)
		}
		t.Fatalf("something else")
	})
	assert.Equal(t, []string{"something else"}, verdict.errors)
	require.Len(t, verdict.logs, 1)
	assert.Contains(t, verdict.logs[0], "order:42 by ")
}

func TestHoldersThatHeedTheirContextAreWaitedFor(t *testing.T) {
	t.Parallel()
	result := make(chan error, 1)
	verdict := play(func(t *script) {
		srv := rlocktest.New(t)
		go func() {
			result <- srv.Client().NewLock("order:42").Do(context.Background(), func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		srv.AwaitHeld("order:42")
	})
	assert.Empty(t, verdict.errors)
	assert.ErrorIs(t, <-result, rlock.ErrClosed)
}

func TestAClientClosedByTheTestIsFine(t *testing.T) {
	t.Parallel()
	verdict := play(func(t *script) {
		srv := rlocktest.New(t)
		rival := srv.Rival()
		if err := srv.Client().Close(context.Background()); err != nil {
			t.Fatalf("%v", err)
		}
		if err := rival.NewLock("order:42").Lock(someone(t.Context())); err != nil {
			t.Fatalf("%v", err)
		}
		srv.AwaitHeld("order:42")
		if err := rival.Close(cancelled()); err == nil {
			t.Fatalf("closed although a lock is held")
		}
	})
	assert.Empty(t, verdict.errors)
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
