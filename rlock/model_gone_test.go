package rlock_test

// What the model of the protocol found about the server's word that a field is gone: internal/model/testdata/stories.

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
	"github.com/rlock-go/rlock/rlock"
)

// The owner's commands hang, so one of its goroutines gives the only level back without waiting for its turn any longer. The
// background releases the field past a nested acquire of another goroutine, which then finds nothing to nest in. Nothing was
// lost: the owner has given the lock back, and the other goroutine takes it anew.
// Story rule03_given_back_is_not_lost.
func TestModel_ANestedAcquireBehindItsOwnersLastRelease(t *testing.T) {
	t.Parallel()
	s := newSlowOwner(t, acquireOf(2))
	outer, err := s.lock.Acquire(s.ctx)
	require.NoError(t, err)
	nested := func() <-chan error {
		return outcome(func() error { return s.lock.Do(s.ctx, func(context.Context) error { return nil }) })
	}
	before := nested()
	s.r.eventually(func() bool { return s.line.held.Load() == 1 }, "it hangs, for 800 ms")
	passed(200 * time.Millisecond)
	behind := nested() // its turn comes while the release waits, which is the next in line
	passed(50 * time.Millisecond)
	if err := outer.Release(s.ctx); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Logf("the machine is so slow that the release had its turn: %v", err)
	}
	s.r.gone(5*time.Second, "released")
	s.line.open()
	for _, call := range []<-chan error{before, behind} {
		assert.NotErrorIs(t, inTime(t, 10*time.Second, call, "a nested call"), rlock.ErrLost)
	}
	requireNothingLeft(t, s.c)
	s.r.gone(5*time.Second, "everything is given back")
}

// Likewise, but what finds nothing is the release of an inner level. It was given back in order, and is told so.
// Story rule03_given_back_is_not_lost_unlock.
func TestModel_AnInnerReleaseBehindItsOwnersLastRelease(t *testing.T) {
	t.Parallel()
	s := newSlowOwner(t, acquireOf(3), releaseOf(1))
	outer, err := s.lock.Acquire(s.ctx)
	require.NoError(t, err)
	inner, err := s.lock.Acquire(s.ctx)
	require.NoError(t, err)
	hanging := outcome(func() error { return s.lock.Do(s.ctx, func(context.Context) error { return nil }) })
	s.r.eventually(func() bool { return s.line.held.Load() == 1 }, "a nested acquire hangs")
	first := outcome(func() error { return inner.Release(s.ctx) })
	passed(50 * time.Millisecond) // so that it is first in line; the other way round would do as well
	second := outcome(func() error { return outer.Release(s.ctx) })
	s.r.gone(10*time.Second, "one of them was left to the background, which went past the other")
	s.line.open()
	for _, release := range []<-chan error{first, second} {
		assert.NotErrorIs(t, inTime(t, 10*time.Second, release, "a release"), rlock.ErrLost)
	}
	assert.NotErrorIs(t, inTime(t, 10*time.Second, hanging, "the nested acquire"), rlock.ErrLost)
	requireNothingLeft(t, s.c)
}

// The key was deleted, a nested acquire finds that out, and its caller has left before the answer comes. The holder is told all
// the same, and not only by the next renewal.
func TestModel_ALossThatTheCallerDidNotHearOfIsTold(t *testing.T) {
	t.Parallel()
	s := newSlowOwner(t, acquireOf(2))
	h, err := s.lock.Acquire(s.ctx)
	require.NoError(t, err)
	require.NoError(t, s.r.raw.Del(s.ctx, s.r.key).Err())
	ctx, giveUp := context.WithCancel(s.ctx)
	nested := outcome(func() error { return s.lock.Lock(ctx) })
	s.r.eventually(func() bool { return s.line.held.Load() == 1 }, "it is under way")
	giveUp()
	require.ErrorIs(t, inTime(t, 5*time.Second, nested, "the call"), context.Canceled)
	require.True(t, h.Held())
	s.line.open()
	requireEnd(t, h.Context())
	require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
	assert.Zero(t, s.r.proxy.Received(renewScript), "long before a renewal was due")
	requireLoss(t, h.Release(s.ctx))
}

// slowOwner is an owner some of whose commands hang.
type slowOwner struct {
	r    *rig
	c    *rlock.Client
	lock *rlock.Lock
	ctx  context.Context
	line *hangingLine
}

// newSlowOwner lets those commands hang. A call gives one of its commands up after 800 ms, and its turn after 900 ms.
func newSlowOwner(t *testing.T, hang ...func(args []any) bool) *slowOwner {
	t.Helper()
	r := newRig(t)
	r.warm()
	rdb := redis.NewClient(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: 800 * time.Millisecond})
	t.Cleanup(func() { _ = rdb.Close() })
	line := &hangingLine{hang: hang, opened: make(chan struct{})}
	rdb.AddHook(line)
	c := newClient(t, rdb, rlock.WithRetryBudget(100*time.Millisecond))
	t.Cleanup(line.open)
	return &slowOwner{r: r, c: c, lock: c.NewLock(r.key), ctx: someone(), line: line}
}

// hangingLine keeps commands from being sent until it is opened.
type hangingLine struct {
	hang   []func(args []any) bool
	held   atomic.Int64
	opened chan struct{}
}

func (l *hangingLine) open() {
	select {
	case <-l.opened:
	default:
		close(l.opened)
	}
}

func (l *hangingLine) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *hangingLine) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if slices.ContainsFunc(l.hang, func(hang func([]any) bool) bool { return hang(cmd.Args()) }) && !isOver(l.opened) {
			l.held.Add(1)
			<-l.opened
		}
		return next(ctx, cmd)
	}
}

func (l *hangingLine) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// acquireOf are the acquires that want that many levels.
func acquireOf(want int) func([]any) bool {
	digest := lua.Acquire("k", "f", 1, time.Second, lua.Orphans{}).EvalSha(context.Background()).Args()[1]
	return func(args []any) bool { return len(args) > 6 && args[1] == digest && args[5] == want }
}

// releaseOf are the releases that leave that many levels.
func releaseOf(remain int) func([]any) bool {
	digest := lua.Release("k", "c", "f", 0, 0).EvalSha(context.Background()).Args()[1]
	return func(args []any) bool { return len(args) > 6 && args[1] == digest && args[6] == remain }
}
