package rlock_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// In virtual time: a hold is over at sent + lease - margin, not a nanosecond sooner or later, for fixed leases and for those
// of the watchdog, and asks nobody about it.
func TestP4_AHoldIsOverAtTheNanosecond(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for lease, margin := range map[time.Duration]time.Duration{
		90 * time.Millisecond: 30 * time.Millisecond, 300 * time.Millisecond: 50 * time.Millisecond,
		5 * time.Second: 500 * time.Millisecond, 10 * time.Second: time.Second, time.Hour: time.Second,
	} {
		for name, opts := range map[string][]rlock.AcquireOption{"fixed": {rlock.Lease(lease)}, "renewed": nil} {
			var clock atomic.Int64
			c := r.newClient(r.srv.Addr(), rlock.WithWatchdogTimeout(lease),
				rlock.WithClock(func() time.Duration { return time.Duration(clock.Load()) }))
			h, err := c.NewLock(r.key+name+lease.String()).Acquire(someone(), opts...)
			require.NoError(t, err)
			clock.Store(int64(lease - margin - 1))
			assert.True(t, h.Held(), "%s %v", name, lease)
			clock.Store(int64(lease - margin))
			assert.False(t, h.Held(), "%s %v", name, lease)
			require.ErrorIs(t, h.Release(t.Context()), rlock.ErrLost)
			assert.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
		}
	}
}

// In virtual time: what an acquire or a renewal proves begins when the command was handed over and not when its answer came,
// which says nothing about when the server ran it.
func TestP4_TheDeadlineCountsFromTheSending(t *testing.T) {
	t.Parallel()
	const lease, margin, slow = 9 * time.Second, 900 * time.Millisecond, time.Second
	var clock atomic.Int64
	r := newRig(t)
	r.warm()
	l := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: 5 * time.Second}, rlock.WithWatchdogTimeout(lease),
		rlock.WithClock(func() time.Duration { return time.Duration(clock.Load()) })).NewLock(r.key)
	slowly := func(m faultproxy.Match, do func()) { // sends such a command, whose answer comes when the clock has moved on
		received := r.proxy.Received(m)
		r.proxy.HoldRequest(300*time.Millisecond, 1, m)
		do()
		require.NoError(t, r.proxy.WaitReceived(t.Context(), m, received+1))
		clock.Add(int64(slow))
	}
	var h *rlock.Hold
	var got <-chan error
	slowly(acquireScript, func() {
		got = outcome(func() (err error) { h, err = l.Acquire(someone()); return err })
	})
	require.NoError(t, <-got)
	assert.LessOrEqual(t, time.Until(h.ValidUntil()), lease-margin-slow)

	slowly(renewScript, func() { clock.Add(int64(lease / 3)) }) // when it is due
	const left = lease - margin - slow - lease/3 - slow         // if it is not renewed
	r.eventually(func() bool { return time.Until(h.ValidUntil()) > left+time.Second }, "renewed")
	assert.LessOrEqual(t, time.Until(h.ValidUntil()), lease-margin-slow)
	require.NoError(t, h.Release(t.Context()))
}

// A black hole opens after the grant, whose answer was late. The context ends in time by the instant at which the acquire
// was sent, not the one at which the answer came, and no sooner than it must.
func TestP4_TheContextEndsInTimeWithoutAnyAnswer(t *testing.T) {
	t.Parallel()
	late := watchStalls(t)
	r := newRig(t, rlock.WithWatchdogTimeout(time.Second))
	r.warm()
	r.proxy.DelayReplies(150*time.Millisecond, acquireScript)
	leases := []time.Duration{300 * time.Millisecond, 600 * time.Millisecond, 1500 * time.Millisecond, 0}
	type grant struct {
		sent time.Duration // not earlier, and hardly later
		hold *rlock.Hold
		told context.Context
	}
	grants := make([]grant, len(leases))
	require.NoError(t, crowd(len(leases), len(leases), func(i int) error {
		var opts []rlock.AcquireOption
		if leases[i] > 0 {
			opts = append(opts, rlock.Lease(leases[i]))
		}
		sent := instant()
		h, err := r.client.NewLock(r.key+strconv.Itoa(i)).Acquire(someone(), opts...)
		if err == nil {
			grants[i] = grant{sent, h, h.Context()}
		}
		return err
	}))
	r.proxy.BlackHole(true)
	assert.NoError(t, crowd(len(leases), len(leases), func(i int) error {
		lease := leases[i]
		if lease == 0 {
			lease = time.Second
		}
		if !hasEnded(t, grants[i].told) {
			return nil
		}
		now, deadline := instant(), grants[i].sent+lease-rlock.Margin(lease)
		assert.GreaterOrEqual(t, now, deadline, "too soon for %v", lease)
		assert.Less(t, now, deadline+50*time.Millisecond+2*late.late(), "too late for %v", lease)
		assert.False(t, grants[i].hold.Held())
		assert.ErrorIs(t, context.Cause(grants[i].told), rlock.ErrLost)
		return nil
	}))
}

// The redis client has one connection for commands and one for pipelines, and somebody else's commands keep them busy: no
// renewal gets through, and the loss is told all the same.
func TestP4_ABlockedPoolDoesNotDelayTheNews(t *testing.T) {
	t.Parallel()
	late := watchStalls(t)
	const lease = 600 * time.Millisecond
	r := newRig(t)
	rdb := redis.NewClient(&redis.Options{Addr: r.srv.Addr(), PoolSize: 1, PipelinePoolSize: 1})
	c := newClient(t, rdb, rlock.WithWatchdogTimeout(lease), rlock.WithRetryBudget(100*time.Millisecond))
	t.Cleanup(func() { _ = rdb.Close() })
	h, err := c.NewLock(r.key).Acquire(someone())
	require.NoError(t, err)
	told := h.Context()
	never := r.key + ":never"
	blocked := outcome(func() error { return rdb.BLPop(t.Context(), 2*time.Second, never).Err() })
	piped := outcome(func() error {
		_, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error { p.BLPop(t.Context(), 2*time.Second, never); return nil })
		return err
	})
	from := instant()
	requireEnd(t, told)
	require.ErrorIs(t, context.Cause(told), rlock.ErrLost)
	assert.Less(t, instant()-from, lease+50*time.Millisecond+2*late.late())
	require.ErrorIs(t, h.Release(t.Context()), rlock.ErrLost)
	require.ErrorIs(t, <-blocked, redis.Nil)
	require.ErrorIs(t, <-piped, redis.Nil)
	r.gone(5*time.Second, "given back as soon as the pool is free")
}

// A level that MaxHold ends sooner than anything else was to happen is ended on time.
func TestP4_MaxHoldOfAnInnerLevelEndsOnTime(t *testing.T) {
	t.Parallel()
	late := watchStalls(t)
	r := newRig(t)
	ctx := someone()
	outer, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	from := instant()
	inner, err := r.lock.Acquire(ctx, rlock.MaxHold(300*time.Millisecond))
	require.NoError(t, err)
	requireEnd(t, inner.Context())
	assert.ErrorIs(t, context.Cause(inner.Context()), rlock.ErrMaxHold)
	assert.Less(t, instant()-from, 350*time.Millisecond+2*late.late())
	assert.True(t, outer.Held())
	require.ErrorIs(t, inner.Release(ctx), rlock.ErrMaxHold)
	require.NoError(t, outer.Release(ctx))
}

// The machine sleeps while the answer to an acquire is under way, and timers sleep with it: the grant is over when its answer
// is read. What Acquire returns is held.
func TestP3_AGrantThatWasSleptThroughIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	var slept atomic.Int64
	c := r.newClient(r.proxy.Addr(), rlock.WithClock(func() time.Duration { return time.Duration(slept.Load()) }))
	r.proxy.HoldRequest(100*time.Millisecond, 1, acquireScript)
	received := r.proxy.Received(acquireScript)
	got := make(chan *rlock.Hold, 1)
	done := outcome(func() error {
		h, err := c.NewLock(r.key).Acquire(someone(), rlock.Lease(5*time.Second))
		got <- h
		return err
	})
	require.NoError(t, r.proxy.WaitReceived(t.Context(), acquireScript, received+1))
	slept.Store(int64(5 * time.Second))
	require.NoError(t, inTime(t, 10*time.Second, done, "the acquire"))
	h := <-got
	require.True(t, h.Held())
	require.NoError(t, h.Release(t.Context()))
	require.Empty(t, r.mine(c))
}
