package rlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petermattis/goid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// The lock is granted, and just when its caller has the answer, its goroutine stands still. Meanwhile the lock is unlocked by
// force, a rival takes it, and more time goes by than any command could take. The grant is still worth nothing.
// Story rule16_force_refuses_grants of internal/model, where every step may take any time.
func TestModel_AForcedUnlockRefusesAGrantHoweverLateItsCallerWakes(t *testing.T) {
	t.Parallel()
	const answer = time.Second
	r := newRig(t)
	r.warmForce()
	sleep, heard := &sleepyClock{asleep: make(chan struct{}), wake: make(chan struct{})}, make(chan struct{})
	rdb := redis.NewClient(&redis.Options{Addr: r.srv.Addr(), ReadTimeout: answer})
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(lateAnswers{acquireOf(1), heard})
	c := newClient(t, rdb, rlock.WithRetryBudget(0), rlock.WithClock(sleep.now))
	lock := c.NewLock(r.key)

	var caller atomic.Int64
	var hold *rlock.Hold
	in := outcome(func() (err error) {
		caller.Store(goid.Get())
		hold, err = lock.Acquire(someone())
		return err
	})
	r.eventually(func() bool { return len(r.fields()) == 1 }, "granted in Redis")
	sleep.goroutine.Store(caller.Load())
	close(heard)
	<-sleep.asleep
	removed, err := lock.ForceUnlock(someone())
	require.NoError(t, err)
	require.True(t, removed)
	rival := someone()
	require.NoError(t, r.rival.Lock(rival))
	passed(answer + answer/2) // no command can be under way any more
	close(sleep.wake)
	select {
	case err := <-in:
		require.Fail(t, "two holders", "%v", err)
	case <-time.After(300 * time.Millisecond): // it has looked again
	}
	require.NoError(t, r.rival.Unlock(rival))
	require.NoError(t, inTime(t, 10*time.Second, in, "its turn has come"))
	require.NoError(t, hold.Release(t.Context()))
	requireNothingLeft(t, c)
}

// sleepyClock lets one goroutine fall asleep when it looks at the clock, once.
type sleepyClock struct {
	goroutine    atomic.Int64
	once         sync.Once
	asleep, wake chan struct{}
}

func (s *sleepyClock) now() time.Duration {
	if goid.Get() == s.goroutine.Load() {
		s.once.Do(func() {
			close(s.asleep)
			<-s.wake
		})
	}
	return instant()
}

// lateAnswers keeps the answers to such commands back until it hears.
type lateAnswers struct {
	such  func(args []any) bool
	heard chan struct{}
}

func (l lateAnswers) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l lateAnswers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if l.such(cmd.Args()) {
			<-l.heard
		}
		return err
	}
}

func (l lateAnswers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
