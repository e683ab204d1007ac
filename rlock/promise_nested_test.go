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

// However a lock was lost, and whether or not its holder has noticed, the owner's next acquire fails by every verb, takes
// nothing, and goes on failing until the lost levels were given back. Then the lock is free to be taken.
func TestP9_ANestedAcquireOnALostLockFails(t *testing.T) {
	t.Parallel()
	const lease = 600 * time.Millisecond
	for name, lose := range map[string]func(r *rig, h *rlock.Hold){
		"deleted":         func(r *rig, _ *rlock.Hold) { require.NoError(r.t, r.raw.Del(context.Background(), r.key).Err()) },
		"flushed":         func(r *rig, _ *rlock.Hold) { require.NoError(r.t, r.raw.FlushAll(context.Background()).Err()) },
		"restarted empty": func(r *rig, _ *rlock.Hold) { r.srv.Restart(false) },
		"black hole past the deadline": func(r *rig, h *rlock.Hold) {
			r.proxy.BlackHole(true)
			r.eventually(func() bool { return !h.Held() }, "the deadline")
			r.proxy.Heal()
		},
		"another's meanwhile": func(r *rig, _ *rlock.Hold) {
			require.NoError(r.t, r.raw.Del(context.Background(), r.key).Err())
			require.NoError(r.t, r.rival.Lock(someone(), rlock.Lease(time.Second)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRigOn(t, redistest.Start(t), rlock.WithWatchdogTimeout(lease))
			ctx := someone()
			h, err := r.lock.Acquire(ctx)
			require.NoError(t, err)
			require.NoError(t, r.lock.Lock(ctx))
			lose(r, h)
			for range 2 {
				require.ErrorIs(t, r.lock.Lock(ctx), rlock.ErrLost)
				_, err = r.lock.TryAcquire(ctx)
				require.ErrorIs(t, err, rlock.ErrLost)
				ran := false
				require.ErrorIs(t, r.lock.Do(ctx, func(context.Context) error { ran = true; return nil }), rlock.ErrLost)
				require.False(t, ran)
			}
			ok, err := r.lock.TryLock(ctx)
			require.False(t, ok)
			require.ErrorIs(t, err, rlock.ErrLost)
			require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
			require.ErrorIs(t, r.lock.Unlock(ctx), rlock.ErrLost)
			require.ErrorIs(t, r.lock.Lock(ctx), rlock.ErrLost, "one level is still to be given back")
			require.ErrorIs(t, h.Release(ctx), rlock.ErrLost)
			require.NoError(t, r.lock.Lock(ctx))
			_, count := r.field()
			assert.Equal(t, "1", count)
			require.NoError(t, r.lock.Unlock(ctx))
		})
	}
}

// A goroutine relied on its fixed lease alone, as code ported from Redisson does: it starts afresh. An owner that somebody
// made does not; its section may still be under way.
func TestP9_AFixedLeaseThatRanOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const lease = 200 * time.Millisecond
	me, made := context.Background(), someone()
	for range 3 {
		require.NoError(t, r.lock.Lock(me, rlock.Lease(lease)))
		h, held := r.lock.Held(me)
		require.True(t, held)
		requireEnd(t, h.Context())
		require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
	}
	require.NoError(t, r.lock.Lock(me))
	_, count := r.field()
	assert.Equal(t, "1", count, "a hold of its own, not a further level")
	require.NoError(t, r.lock.Unlock(me))
	require.ErrorIs(t, r.lock.Unlock(me), rlock.ErrNotHeld)
	r.idle(5 * time.Second)

	require.NoError(t, r.lock.Lock(made, rlock.Lease(lease)))
	h, held := r.lock.Held(made)
	require.True(t, held)
	requireEnd(t, h.Context())
	require.ErrorIs(t, r.lock.Lock(made), rlock.ErrLost)
	requireLoss(t, r.lock.Unlock(made))
	require.NoError(t, r.lock.Lock(made))
	require.NoError(t, r.lock.Unlock(made))

	require.NoError(t, r.lock.Lock(me), "a hold of the watchdog that was lost is no lease that ran out")
	require.NoError(t, r.raw.Del(me, r.key).Err())
	for range 2 {
		require.ErrorIs(t, r.lock.Lock(me), rlock.ErrLost)
	}
	require.ErrorIs(t, r.lock.Unlock(me), rlock.ErrLost)
}
