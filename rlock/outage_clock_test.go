package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// The clock of a server cannot be set here. A step is emulated by what it leaves: the expiry of every key, which Redis keeps as a
// time of day, comes nearer or goes further away by the step, so the operator changes the TTL by as much. What a step does to the
// TIME that a forced unlock goes by is not shown.

// P4, P9: the server's clock jumps ahead, over the end of the lease. The lock is free, and whoever waits gets in by its look, for
// nobody announces that. The holder is told by the server at its next renewal, or when it asks for something before that.
func TestOutage_ServerClockJumpsOverTheLease_TheHolderLearnsFromTheServer(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, nil, rlock.WithWatchdogTimeout(3*time.Second))
	waits := r.directClient().NewLock(r.key)
	for asks, ask := range map[string]func(h *rlock.Hold, ctx context.Context) error{
		"nothing": func(h *rlock.Hold, ctx context.Context) error {
			requireEnd(t, h.Context())
			assert.ErrorContains(t, context.Cause(h.Context()), "the server no longer knows", "and not by its deadline")
			return h.Release(ctx)
		},
		"for a level more":   func(_ *rlock.Hold, ctx context.Context) error { return r.lock.Lock(ctx) },
		"to give a level up": func(h *rlock.Hold, ctx context.Context) error { return h.Release(ctx) },
	} {
		ctx := someone()
		require.NoError(t, r.lock.Lock(ctx), asks)
		h, err := r.lock.Acquire(ctx)
		require.NoError(t, err, asks)
		told := h.Context()
		waiter := outcome(func() error { return waits.Do(someone(), func(context.Context) error { return nil }) })
		r.asleep(1)
		r.clockJumps(time.Minute)
		require.NoError(t, inTime(t, 10*time.Second, waiter, "the waiter's look"), asks)
		requireLoss(t, ask(h, ctx))
		requireEnd(t, told)
		_ = h.Release(ctx)
		requireLoss(t, r.lock.Unlock(ctx))
	}
	requireNothingLeft(t, r.client)
}

// P5, P6: the clock jumps ahead, but leaves enough of the lease for the next renewal, which sets it right. Nobody hears of it.
func TestOutage_ServerClockJumpsWithinTheLease_NobodyHears(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	r := newOutageRig(t, nil, rlock.WithWatchdogTimeout(lease))
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	r.clockJumps(2 * time.Second)
	require.Less(t, r.ttl(), lease-2*time.Second+time.Millisecond)
	r.eventually(func() bool { return r.ttl() > lease-time.Second }, "renewed")
	require.NoError(t, h.Context().Err())
	require.NoError(t, h.Release(t.Context()))
}

// P4, P7: the clock jumps back by an hour, so the key would live for an hour more. That is nothing to the holder, whose lease ends
// by its own clock. What was given back is free at once, and who waits is told, however long it believes that the lease lasts.
func TestOutage_ServerClockJumpsBack_NobodyWaitsForIt(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, nil, rlock.WithWatchdogTimeout(1500*time.Millisecond))
	waits := r.directClient(rlock.WithFallbackLook(time.Minute)).NewLock(r.key)
	for name, opts := range map[string][]rlock.AcquireOption{"renewed": nil, "fixed": {rlock.Lease(900 * time.Millisecond)}} {
		ctx := someone()
		h, err := r.lock.Acquire(ctx, opts...)
		require.NoError(t, err)
		r.clockJumps(-time.Hour)
		waiter := outcome(func() error { return waits.Do(someone(), func(context.Context) error { return nil }) })
		r.asleep(1)
		if name == "renewed" {
			valid := h.ValidUntil()
			r.eventually(func() bool { return h.ValidUntil().Sub(valid) > 300*time.Millisecond }, "renewed all the same")
			require.NoError(t, h.Release(ctx))
		} else {
			requireEnd(t, h.Context())
			requireLoss(t, h.Release(ctx))
		}
		require.NoError(t, inTime(t, 10*time.Second, waiter, "told"), name)
	}
	requireNothingLeft(t, r.client)
}

// P7: the server is slow to delete what has expired. A key that is over does not stand in anybody's way for that.
func TestOutage_ExpiredKeysAreNotDeleted_TheyHoldNothing(t *testing.T) {
	t.Parallel()
	redistest.RequireVersion(t, 7, 0) // older ones know no such directive
	r := newOutageRig(t, []redistest.Option{redistest.Config("enable-debug-command", "yes")})
	r.do("DEBUG", "SET-ACTIVE-EXPIRE", 0)
	r.do("HSET", r.key, "somebody:1", 1)
	r.do("PEXPIRE", r.key, 300)
	require.NoError(t, r.lock.Do(someone(), func(ctx context.Context) error {
		state, err := r.lock.State(ctx)
		assert.Equal(t, 1, state.Holds)
		return err
	}, rlock.Wait(10*time.Second)))

	h, err := r.lock.Acquire(someone(), rlock.Lease(300*time.Millisecond))
	require.NoError(t, err)
	requireEnd(t, h.Context())
	r.eventually(func() bool {
		state, err := r.lock.State(t.Context())
		return err == nil && !state.Locked
	}, "over")
	require.NoError(t, r.rival.Lock(someone(), rlock.Lease(time.Minute)))
	requireLoss(t, h.Release(t.Context()))
	assert.Len(t, r.fields(), 1, "the rival's is not touched")
}

// clockJumps leaves what a step of the server's clock would leave of the lock.
func (r *outageRig) clockJumps(step time.Duration) {
	r.t.Helper()
	r.do("PEXPIRE", r.key, (r.ttl() - step).Milliseconds())
}
