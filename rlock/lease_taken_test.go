package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks promises P9 and P10: ported code relies on its fixed lease alone and never unlocks. The key is deleted, or unlocked by
// force, before the lease is over. When it would have run out, the goroutine starts afresh as it would have without, and nothing
// of the lock is kept for ever.
func TestP9_ALeaseThatWasTakenAwayRunsOutToo(t *testing.T) {
	t.Parallel()
	for name, takeAway := range map[string]func(srv *redistest.Server, l *rlock.Lock) error{
		"deleted": func(srv *redistest.Server, l *rlock.Lock) error {
			return srv.Raw(t).Del(context.Background(), l.Name()).Err()
		},
		"forced": func(_ *redistest.Server, l *rlock.Lock) error {
			_, err := l.ForceUnlock(context.Background())
			return err
		},
		"undisturbed": func(*redistest.Server, *rlock.Lock) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const lease = 800 * time.Millisecond
			srv, ctx := redistest.Shared(t), context.Background()
			c := clientOf(t, srv, rlock.WithWatchdogTimeout(300*time.Millisecond))
			l := c.NewLock(t.Name())
			require.NoError(t, l.Lock(ctx, rlock.Lease(lease)))
			over := time.Now().Add(lease)
			require.NoError(t, takeAway(srv, l))
			time.Sleep(time.Until(over))
			ok, err := l.TryLock(ctx, rlock.Lease(100*time.Millisecond), rlock.Wait(soonEnough))
			require.NoError(t, err, "the lease is over, so the goroutine starts afresh")
			assert.True(t, ok)
			eventually(t, func() bool { return c.Leftovers().Tenures == 0 }, "what nobody gives back is forgotten")
		})
	}
}

// Attacks promise P10: likewise, and the goroutine never comes back.
func TestP10_ALeaseThatWasTakenAwayIsForgotten(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	c := clientOf(t, srv, rlock.WithWatchdogTimeout(300*time.Millisecond))
	l := c.NewLock(t.Name())
	require.NoError(t, l.Lock(context.Background(), rlock.Lease(800*time.Millisecond)))
	require.NoError(t, srv.Raw(t).Del(t.Context(), l.Name()).Err())
	requireNothingLeft(t, c)
}

// Attacks promise P4: what lasts no longer is not said to be valid, in the hold or in what Held showed before.
func TestP4_ValidUntilOfALostHoldIsPast(t *testing.T) {
	t.Parallel()
	srv, owner := redistest.Shared(t), ownerid.NewContext(t.Context(), ownerid.New())
	c := clientOf(t, srv, rlock.WithWatchdogTimeout(3*time.Second))
	h, err := c.NewLock(t.Name()).Acquire(owner)
	require.NoError(t, err)
	view, ok := c.NewLock(t.Name()).Held(owner)
	require.True(t, ok)
	ctx := h.Context()
	require.NoError(t, srv.Raw(t).Del(t.Context(), t.Name()).Err())
	requireEnd(t, ctx)
	require.ErrorIs(t, context.Cause(ctx), rlock.ErrLost)
	assert.False(t, h.Held())
	assert.False(t, h.ValidUntil().After(time.Now()), "ahead: %v", time.Until(h.ValidUntil()))
	assert.False(t, view.ValidUntil().After(time.Now()), "ahead, as shown: %v", time.Until(view.ValidUntil()))
}

// Attacks promise P4: likewise of an inner level that was given back, and of a hold that MaxHold will end.
func TestP4_ValidUntilIsNeverTooLate(t *testing.T) {
	t.Parallel()
	l, ctx := clientOf(t, redistest.Shared(t), rlock.WithWatchdogTimeout(3*time.Second)).NewLock(t.Name()), someone()
	outer, err := l.Acquire(ctx)
	require.NoError(t, err)
	inner, err := l.Acquire(ctx)
	require.NoError(t, err)
	require.NoError(t, inner.Release(ctx))
	assert.False(t, inner.ValidUntil().After(time.Now()), "ahead: %v", time.Until(inner.ValidUntil()))
	require.NoError(t, outer.Release(ctx))

	require.NoError(t, l.Lock(ctx, rlock.MaxHold(2*time.Second)))
	view, ok := l.Held(ctx)
	require.True(t, ok)
	latest, shown := time.Time{}, view.Context()
	eventually(t, func() bool {
		if until := view.ValidUntil(); until.After(latest) {
			latest = until
		}
		return shown.Err() != nil
	}, "MaxHold ends it")
	assert.Less(t, time.Until(latest), 50*time.Millisecond, "said to be valid for longer than it was")
	require.ErrorIs(t, l.Unlock(ctx), rlock.ErrMaxHold)
}
