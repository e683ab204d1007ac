package rlock_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Close in every state that a Client can be in, with Redis up, silent and down: it ends in time, every call that was under
// way is answered, and no goroutine is left. Not parallel, because it counts goroutines.
func TestP10_CloseEndsEverything(t *testing.T) {
	srv := redistest.Shared(t)
	for condition, harm := range map[string]func(p *faultproxy.Proxy){
		"up":         func(*faultproxy.Proxy) {},
		"black hole": func(p *faultproxy.Proxy) { p.BlackHole(true) },
		"down":       func(p *faultproxy.Proxy) { p.Refuse(true); p.Cut() },
	} {
		for state, s := range closings {
			t.Run(condition+"/"+state, func(t *testing.T) {
				p := faultproxy.New(t, srv.Addr())
				before := goleak.IgnoreCurrent()
				c, done := newCloser(t, p)
				harmed := func() { harm(p) }
				if s.harmFirst {
					harmed()
				}
				finish := s.prepare(t, c)
				if !s.harmFirst {
					harmed()
				}
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				defer cancel()
				late, from := watchStalls(t), instant()
				err := inTime(t, 20*time.Second, outcome(func() error { return c.c.Close(ctx) }), "Close")
				took := instant() - from
				assert.Less(t, took, 100*time.Millisecond+2*answerTime+100*time.Millisecond+4*late.late())
				if s.held {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				} else if !s.racing {
					require.NoError(t, err)
				}
				finish()
				require.Eventually(t, func() bool { return ofTheLibrary(false) == "" }, 500*time.Millisecond+4*late.late(),
					time.Millisecond, "a goroutine remains, save that one may be about to end")
				require.ErrorIs(t, c.l.Lock(context.Background()), rlock.ErrClosed)
				done()
				p.Heal()
				goleak.VerifyNone(t, before, redistest.IgnoreServers(), ofTheTest(), ofTheProxy())
			})
		}
	}
}

// closer is a Client that is about to be closed, with a lock that is free and one that a rival holds.
type closer struct {
	c        *rlock.Client
	l, taken *rlock.Lock
}

func newCloser(t *testing.T, p *faultproxy.Proxy) (c closer, done func()) {
	t.Helper()
	srv := redistest.Shared(t)
	raw := srv.Raw(t)
	require.NoError(t, raw.HSet(t.Context(), t.Name()+":taken", "somebody:1", 1).Err())
	require.NoError(t, raw.PExpire(t.Context(), t.Name()+":taken", time.Minute).Err())
	rdb := redis.NewClient(&redis.Options{Addr: p.Addr(), ReadTimeout: answerTime, WriteTimeout: answerTime})
	c.c, _ = rlock.New(rdb, rlock.WithWatchdogTimeout(900*time.Millisecond), rlock.WithLogger(slog.New(slog.DiscardHandler)))
	c.l, c.taken = c.c.NewLock(t.Name()), c.c.NewLock(t.Name()+":taken")
	return c, func() { _ = rdb.Close(); _ = raw.Close() }
}

// closings are the states. What prepare returns waits for the calls under way and checks what became of them.
var closings = map[string]struct {
	prepare   func(t *testing.T, c closer) (finish func())
	held      bool // something is not given back in time
	racing    bool // something may or may not be held
	harmFirst bool // Redis fails before the state is reached
}{
	"unused": {prepare: func(*testing.T, closer) func() { return func() {} }},
	"idle": {prepare: func(t *testing.T, c closer) func() {
		t.Helper()
		require.NoError(t, c.l.Do(t.Context(), func(context.Context) error { return nil }))
		return func() {}
	}},
	"held": {held: true, prepare: func(t *testing.T, c closer) func() {
		t.Helper()
		h, err := c.l.Acquire(someone())
		require.NoError(t, err)
		return func() {
			require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrClosed)
			require.Error(t, h.Release(t.Context()))
		}
	}},
	"lost": {held: true, prepare: func(t *testing.T, c closer) func() {
		t.Helper()
		h, err := c.l.Acquire(someone(), rlock.Lease(100*time.Millisecond))
		require.NoError(t, err)
		requireEnd(t, h.Context())
		return func() { require.ErrorIs(t, h.Release(t.Context()), rlock.ErrLost) }
	}},
	"waiters": {prepare: func(t *testing.T, c closer) func() {
		t.Helper()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { assert.ErrorIs(t, c.taken.Lock(someone()), rlock.ErrClosed) })
		}
		eventually(t, func() bool { return c.c.Leftovers().Seats == 5 && c.c.Leftovers().Channels == 1 }, "they wait")
		return all.Wait
	}},
	"asked": {harmFirst: true, prepare: func(t *testing.T, c closer) func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(someone(), 20*time.Millisecond)
		defer cancel()
		_, _ = c.l.State(ctx) // nobody waits for the answer any more
		return func() {}
	}},
	"in flight": {harmFirst: true, racing: true, prepare: func(t *testing.T, c closer) func() {
		t.Helper()
		var all sync.WaitGroup
		for _, l := range []*rlock.Lock{c.l, c.taken} {
			all.Go(func() {
				if err := l.Lock(someone()); err != nil { // Redis up: it may be quicker
					assert.ErrorIs(t, err, rlock.ErrClosed)
				}
			})
		}
		eventually(t, func() bool { return c.c.Leftovers().Seats == 2 }, "they look")
		return all.Wait
	}},
	"backing off": {harmFirst: true, prepare: func(t *testing.T, c closer) func() {
		t.Helper()
		done := outcome(func() error { return c.taken.Lock(someone()) })
		passed(500 * time.Millisecond) // one answer is missing already
		return func() { require.ErrorIs(t, <-done, rlock.ErrClosed) }
	}},
}

// Holders that give back in time are waited for, and renewed until then; Close twice at the same time waits for one end.
func TestP10_CloseWaitsForTheHoldersAndRenewsThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(600*time.Millisecond))
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	one, two := outcome(func() error { return r.client.Close(t.Context()) }), outcome(func() error { return r.client.Close(t.Context()) })
	requireEnd(t, h.Context())
	require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrClosed)
	for end := instant() + 1500*time.Millisecond; instant() < end; time.Sleep(20 * time.Millisecond) {
		r.taken("no lock is pulled from under a running section")
		require.True(t, h.Held())
	}
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, inTime(t, 10*time.Second, one, "Close"))
	require.NoError(t, inTime(t, 10*time.Second, two, "the other Close"))
	assert.Empty(t, r.fields())
	require.NoError(t, r.client.Close(t.Context()))
	require.ErrorIs(t, h.Release(t.Context()), rlock.ErrNotHeld)
	_, err = r.lock.State(t.Context())
	require.ErrorIs(t, err, rlock.ErrClosed)
	_, err = r.lock.ForceUnlock(t.Context())
	require.ErrorIs(t, err, rlock.ErrClosed)
	_, err = r.lock.TryLock(t.Context())
	require.ErrorIs(t, err, rlock.ErrClosed)
}

// While Close waits for a holder nothing new begins: no further level of what is held, no other lock, no question. And nothing
// is sent for it.
func TestP10_WhileHoldersAreAwaitedNothingNewBegins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	holder := someone()
	h, err := r.lock.Acquire(holder)
	require.NoError(t, err)
	closing := outcome(func() error { return r.client.Close(context.Background()) })
	requireEnd(t, h.Context())
	other := r.client.NewLock(r.key + ":other")
	before := r.proxy.Received(faultproxy.Any)
	require.ErrorIs(t, r.lock.Lock(holder), rlock.ErrClosed)
	require.ErrorIs(t, other.Lock(holder), rlock.ErrClosed)
	_, err = other.TryAcquire(someone())
	require.ErrorIs(t, err, rlock.ErrClosed)
	_, err = other.State(holder)
	require.ErrorIs(t, err, rlock.ErrClosed)
	_, err = other.ForceUnlock(holder)
	require.ErrorIs(t, err, rlock.ErrClosed)
	assert.Equal(t, before, r.proxy.Received(faultproxy.Any))
	require.NoError(t, h.Release(holder))
	require.NoError(t, inTime(t, 10*time.Second, closing, "Close"))
}

// Waiters fail in their sleep, at the head of the line and behind it, long before anybody would look.
func TestP10_CloseWakesThoseWhoSleep(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	r.occupy()
	head := outcome(func() error { return r.lock.Lock(someone()) })
	r.asleep(1)
	next := outcome(func() error { return r.lock.Lock(someone()) })
	r.eventually(func() bool { return r.client.Leftovers().Seats == 2 }, "in line")
	closing := outcome(func() error { return r.client.Close(context.Background()) })
	require.ErrorIs(t, inTime(t, soonEnough, head, "the head"), rlock.ErrClosed)
	require.ErrorIs(t, inTime(t, soonEnough, next, "the one behind it"), rlock.ErrClosed)
	require.NoError(t, inTime(t, soonEnough, closing, "Close"))
}

// What is not given back in time runs out by its lease: not sooner, and it is not renewed any more.
func TestP10_WhatIsNotGivenBackRunsOut(t *testing.T) {
	t.Parallel()
	const lease = 900 * time.Millisecond
	r := newRig(t, rlock.WithWatchdogTimeout(lease))
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), lease)
	defer cancel()
	closing := outcome(func() error { return r.client.Close(ctx) })
	require.ErrorIs(t, inTime(t, 20*time.Second, closing, "Close"), context.DeadlineExceeded)
	assert.Len(t, r.fields(), 1, "it is not pulled from under the section")
	require.True(t, h.Held())
	seen := r.proxy.Received(renewScript)
	r.gone(2*lease, "it runs out")
	require.False(t, h.Held(), "the clock says so, although nobody rings any more")
	assert.Equal(t, seen, r.proxy.Received(renewScript))
	require.Error(t, h.Release(t.Context()))
}

// A holder that does not know yet that its lock was deleted, and taken by another owner of the same Client, is told of the
// end of the Client like every other.
func TestP10_EveryHolderIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.client.NewLock(r.client.ID()) // whose key stays for a lease
	first, err := l.Acquire(someone())
	require.NoError(t, err)
	require.NoError(t, r.raw.Del(t.Context(), l.Name()).Err())
	second, err := l.Acquire(someone())
	require.NoError(t, err)
	require.Error(t, inTime(t, 20*time.Second, outcome(func() error { return r.client.Close(ended()) }), "Close"))
	for _, h := range []*rlock.Hold{first, second} {
		require.Error(t, h.Context().Err())
		cause := context.Cause(h.Context())
		assert.True(t, errors.Is(cause, rlock.ErrClosed) || errors.Is(cause, rlock.ErrLost), "%v", cause)
	}
}

// The grant comes at the very moment of Close. Whoever has a hold is told that the Client ends.
func TestP10_AGrantThatMeetsTheCloseIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.srv.Client(t)
	require.NoError(t, rdb.Ping(t.Context()).Err())
	held := 0
	for i := range 800 {
		c, err := rlock.New(rdb)
		require.NoError(t, err)
		var h *rlock.Hold
		got := outcome(func() (err error) {
			h, err = c.NewLock(c.ID()).Acquire(someone())
			return err
		})
		time.Sleep(rand.N(600 * time.Microsecond))
		_ = c.Close(ended())
		if err := <-got; err != nil {
			require.ErrorIs(t, err, rlock.ErrClosed)
			continue
		}
		held++
		require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrClosed, "hold %d, number %d", i, held)
	}
	t.Logf("%d holds", held)
	assert.Positive(t, held)
}

// An acquire was cancelled and nobody knows yet whether it is granted. Close sees to it that nothing is left of it.
func TestP10_CloseSettlesWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	r.proxy.HoldRequest(150*time.Millisecond, 1, acquireScript)
	ctx, cancel := context.WithTimeout(someone(), 20*time.Millisecond)
	defer cancel()
	answered := r.proxy.Answered(acquireScript)
	require.ErrorIs(t, r.lock.Lock(ctx), context.DeadlineExceeded)
	require.NoError(t, inTime(t, 20*time.Second, outcome(func() error { return r.client.Close(t.Context()) }), "Close"))
	require.Equal(t, answered+1, r.proxy.Answered(acquireScript), "it was granted meanwhile")
	assert.Empty(t, r.fields())
}

// The read time-out is long and Redis silent, with a grant in doubt: beyond its context Close takes that time once, as
// promised, and not several times over.
func TestP10_CloseTakesTheReadTimeoutOnce(t *testing.T) {
	t.Parallel()
	const answer = 1500 * time.Millisecond
	r := newRig(t)
	r.warm()
	rdb := redis.NewClient(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: answer, WriteTimeout: answer})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := rlock.New(rdb)
	require.NoError(t, err)
	require.NoError(t, rdb.Ping(t.Context()).Err())
	r.proxy.BlackHole(true)
	ctx, cancel := context.WithTimeout(someone(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.NewLock(r.key).Lock(ctx), context.DeadlineExceeded)
	late, from := watchStalls(t), instant()
	require.NoError(t, c.Close(t.Context()))
	assert.Less(t, instant()-from, answer+500*time.Millisecond+4*late.late())
}

// Code that was ported from Redisson may rely on its fixed lease alone and never unlock. What the Client knows of it goes by
// itself.
func TestP10_ALeaseThatRanOutIsForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(300*time.Millisecond))
	require.NoError(t, r.lock.Lock(context.Background(), rlock.Lease(200*time.Millisecond)))
	r.idle(5 * time.Second)
}

// ofTheTest is what measures the machine.
func ofTheTest() goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/rlock-go/rlock/rlock_test.watchStalls.func1")
}

// ofTheProxy is what listens for the test.
func ofTheProxy() goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/rlock-go/rlock/internal/faultproxy.(*Proxy).accept")
}
