package rlocktest_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
	"github.com/rlock-go/rlock/rlocktest"
)

func TestFailIsTheAnswerOfAnAcquire(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	srv.Fail("NOPERM not for you")

	ok, err := srv.Client().NewLock("order:42").TryLock(t.Context())
	assert.False(t, ok)
	require.ErrorContains(t, err, "NOPERM not for you")
	assert.NotErrorIs(t, err, rlock.ErrNotAcquired)

	srv.Recover()
	held := acquire(t, srv.Client(), "order:42")
	assert.NoError(t, held.Release(t.Context()))
}

func TestAShortFailureIsWeathered(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*rlocktest.Server){
		"loading": func(s *rlocktest.Server) { s.Fail("LOADING one moment") },
		"hanging": (*rlocktest.Server).Hang,
	} {
		t.Run(name, func(t *testing.T) {
			srv := rlocktest.New(t, rlock.WithRetryBudget(time.Minute))
			held := acquire(t, srv.Client(), "held")
			begin(srv)
			done := make(chan error, 1)
			go func() {
				done <- srv.Client().NewLock("order:42").Do(t.Context(), func(context.Context) error { return nil })
			}()
			select {
			case err := <-done:
				require.Fail(t, "acquired from a Redis that fails", err)
			case <-time.After(100 * time.Millisecond):
			}
			srv.Recover()
			assert.NoError(t, <-done)
			assert.NoError(t, held.Context().Err())
			assert.NoError(t, held.Release(t.Context()))
		})
	}
}

func TestHangEndsInATimeOut(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t, rlock.WithRetryBudget(200*time.Millisecond))
	srv.Hang()
	_, err := srv.Client().NewLock("order:42").Acquire(someone(t.Context()))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.NotErrorIs(t, err, rlock.ErrNotAcquired)
}

func TestAHoldIsLostWhenTheFailureOutlastsItsLease(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*rlocktest.Server){
		"failing": func(s *rlocktest.Server) { s.Fail("") },
		"hanging": (*rlocktest.Server).Hang,
	} {
		t.Run(name, func(t *testing.T) {
			srv := rlocktest.New(t, rlock.WithWatchdogTimeout(500*time.Millisecond))
			held := acquire(t, srv.Client(), "order:42")
			begin(srv)
			assert.ErrorIs(t, awaitEnd(t, held), rlock.ErrLost)
			assert.ErrorIs(t, held.Release(t.Context()), rlock.ErrLost)
		})
	}
}

func TestAnUnlockThatFailsIsMadeUpForLater(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*rlocktest.Server){
		"failing": func(s *rlocktest.Server) { s.Fail("") },
		"hanging": (*rlocktest.Server).Hang,
	} {
		t.Run(name, func(t *testing.T) {
			srv := rlocktest.New(t, rlock.WithRetryBudget(200*time.Millisecond))
			held := acquire(t, srv.Client(), "order:42")
			begin(srv)
			require.Error(t, held.Release(t.Context()))
			srv.Recover()
			within(t, func(ctx context.Context) {
				next, err := srv.Rival().NewLock("order:42").Acquire(ctx)
				require.NoError(t, err)
				assert.NoError(t, next.Release(ctx))
			})
		})
	}
}

func TestAScriptIsNotStoppedHalfWay(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	const runs, perRun = 100, 200
	ran, done, failed := make(chan struct{}), 0, 0
	go func() {
		defer close(ran)
		for done < runs || failed == 0 {
			err := srv.Redis().Eval(t.Context(), "for i = 1, tonumber(ARGV[1]) do redis.call('INCR', KEYS[1]) end", []string{"n"}, perRun).Err()
			if errors.Is(err, redis.Nil) {
				done++
			} else {
				failed++
			}
		}
	}()
	for running := true; running; {
		for _, change := range []func(){func() { srv.Fail("") }, srv.Hang, srv.Recover} {
			change()
			select {
			case <-ran:
				running = false
			case <-time.After(time.Millisecond):
			}
		}
	}
	count, err := srv.Redis().Get(t.Context(), "n").Int()
	require.NoError(t, err)
	assert.Zero(t, count%perRun)
	assert.GreaterOrEqual(t, count, done*perRun, "the answer to some that ran was lost")
}

func TestTheCleanupEndsAFailure(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*rlocktest.Server){
		"failing": func(s *rlocktest.Server) { s.Fail("") },
		"hanging": (*rlocktest.Server).Hang,
	} {
		t.Run(name, func(t *testing.T) {
			verdict := play(func(t *script) {
				srv := rlocktest.New(t)
				hold, err := srv.Client().NewLock("order:42").Acquire(context.Background())
				if err != nil {
					t.Fatalf("%v", err)
				}
				begin(srv)
				t.Cleanup(func() { _ = hold.Release(context.Background()) })
			})
			assert.Empty(t, verdict.errors)
		})
	}
}
