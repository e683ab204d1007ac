package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// An inner level has reached its MaxHold, and while its code is still on its way out, the outer level is given back. With
// that nobody holds anything any more, so the Client frees the lock by itself: but that must not get in the way of the outer
// give-back, whose level was held to its end, and make a loss of it. Neither may a network that loses or delays it.
func TestReleaseAboveALevelThatMaxHoldEndedIsNoLoss(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*faultproxy.Proxy){
		"healthy":    func(*faultproxy.Proxy) {},
		"lost reply": func(p *faultproxy.Proxy) { p.DropReply(1, releaseScript) },
		"late":       func(p *faultproxy.Proxy) { p.HoldRequest(200*time.Millisecond, 1, releaseScript) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := newRig(t), someone()
			r.warm()
			outer, err := r.lock.Acquire(ctx)
			require.NoError(t, err)
			inner, err := r.lock.Acquire(ctx, rlock.MaxHold(100*time.Millisecond))
			require.NoError(t, err)
			requireEnd(t, inner.Context())
			passed(50 * time.Millisecond) // not only the holder's share of MaxHold is over, but all of it
			require.True(t, outer.Held())
			outside := outer.Context()

			disturb(r.proxy)
			require.NoError(t, outer.Release(ctx), "held until it was given back")
			assert.ErrorIs(t, context.Cause(outside), rlock.ErrReleased)
			require.ErrorIs(t, inner.Release(ctx), rlock.ErrMaxHold)
			r.gone(5*time.Second, "nobody holds it")
			r.idle(5 * time.Second)
		})
	}
}

// What ends the rest of the tenure after a level was given back does not change why that level ended.
func TestAReleasedLevelEndedByItsRelease(t *testing.T) {
	t.Parallel()
	lock, ann := clientOf(t, redistest.Shared(t)).NewLock(t.Name()), someone()
	outer, err := lock.Acquire(ann)
	require.NoError(t, err)
	inner, err := lock.Acquire(ann, rlock.MaxHold(150*time.Millisecond))
	require.NoError(t, err)
	<-inner.Context().Done()
	require.NoError(t, outer.Release(ann))
	require.ErrorIs(t, context.Cause(outer.Context()), rlock.ErrReleased, "asked for when all was over")
	requireMaxHold(t, inner.Release(ann))
}
