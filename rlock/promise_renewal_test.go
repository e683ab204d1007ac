package rlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// In and out two thousand times with a watchdog that renews every few milliseconds, over a network with jitter. Renewal is
// armed when Lock has returned and ended when Unlock sends; no key is ever left, and nobody renews a field that was released.
func TestP6_RenewalLivesExactlyAsLongAsTheHold(t *testing.T) {
	t.Parallel()
	const watchdog = 60 * time.Millisecond
	r := newRig(t)
	r.warm()
	options := &redis.Options{Addr: r.proxy.Addr(), ReadTimeout: 2 * time.Second}
	rdb := redis.NewClient(options)
	c := newClient(t, rdb, rlock.WithWatchdogTimeout(watchdog))
	t.Cleanup(func() { _ = rdb.Close() })
	book := &renewals{t: t, key: r.key, released: map[string]time.Duration{}, watched: func() int { return c.Leftovers().Watched }}
	rdb.AddHook(ears{book.hear})
	jitter := mishaps(5*time.Millisecond,
		func() { r.proxy.DelayReplies(3*time.Millisecond, renewScript) },
		func() { r.proxy.DelayReplies(0, renewScript) },
		func() { r.proxy.HoldRequest(8*time.Millisecond, 1, renewScript) })
	l, ctx := c.NewLock(r.key), someone()
	for i := range 2000 {
		require.NoError(t, l.Lock(ctx))
		require.Equal(t, 1, c.Leftovers().Watched, "armed before Lock returns")
		if i%50 == 0 {
			passed(watchdog) // long enough to be renewed
		}
		err := l.Unlock(ctx)
		if err != nil {
			require.ErrorIs(t, err, rlock.ErrLost) // this machine may be slower than the lease
		}
		require.Zero(t, c.Leftovers().Watched)
	}
	jitter()
	if r.raw.Exists(t.Context(), r.key).Val() != 0 {
		r.gone(time.Second, "what is lost at the end is given back")
	}
	seen := r.proxy.Received(renewScript)
	assert.Positive(t, seen)
	passed(2 * watchdog)
	assert.Zero(t, r.raw.Exists(t.Context(), r.key).Val())
	assert.Equal(t, seen, r.proxy.Received(renewScript), "nothing is renewed any more")
}

// A renewal is late, and arrives when the lock is free, or another's. It creates nothing, and gives nobody time.
func TestP6_ALateRenewalChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(1500*time.Millisecond))
	r.warm()
	for _, rival := range []bool{false, true} {
		ctx := someone()
		r.proxy.HoldRequest(time.Second, 1, renewScript)
		received, answered := r.proxy.Received(renewScript), r.proxy.Answered(renewScript)
		require.NoError(t, r.lock.Lock(ctx))
		require.NoError(t, r.proxy.WaitReceived(t.Context(), renewScript, received+1))
		require.NoError(t, r.lock.Unlock(ctx))
		if rival {
			require.NoError(t, r.rival.Lock(ctx, rlock.Lease(1200*time.Millisecond)))
		}
		require.NoError(t, r.proxy.WaitAnswered(t.Context(), renewScript, answered+1))
		if rival {
			assert.Less(t, r.ttl(), 1200*time.Millisecond)
			_ = r.rival.Unlock(ctx)
			continue
		}
		assert.Empty(t, r.fields())
	}
}

// The unlock fails on the network. What it leaves is given back, and never renewed.
func TestP6_AnUnlockThatFailsIsNotRenewed(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(900*time.Millisecond), rlock.WithRetryBudget(50*time.Millisecond))
	ctx := someone()
	require.NoError(t, r.lock.Lock(ctx))
	r.proxy.RefuseRequest("-LOADING Redis is loading the dataset in memory", faultproxy.Every, releaseScript)
	require.ErrorContains(t, r.lock.Unlock(ctx), "LOADING")
	require.ErrorIs(t, r.lock.Unlock(ctx), rlock.ErrNotHeld, "the level is given back all the same")
	seen := r.proxy.Received(renewScript)
	r.gone(5*time.Second, "it runs out by its lease")
	assert.Equal(t, seen, r.proxy.Received(renewScript))
	r.proxy.Heal()
	r.idle(10 * time.Second)
}

// The inner unlock leaves the outer hold its renewal, and the outer one ends it.
func TestP6_AnInnerUnlockLeavesTheOuterRenewal(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(900*time.Millisecond))
	ctx := someone()
	h, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	require.NoError(t, r.lock.Lock(ctx))
	require.NoError(t, r.lock.Do(ctx, func(context.Context) error { return nil }))
	assert.Equal(t, 1, r.client.Leftovers().Watched, "one renewal for all levels")
	require.NoError(t, r.lock.Unlock(ctx))
	seen := r.proxy.Answered(renewScript)
	for end := instant() + 1800*time.Millisecond; instant() < end; time.Sleep(20 * time.Millisecond) {
		r.taken("the outer level is held")
	}
	require.True(t, h.Held())
	renewals := r.proxy.Answered(renewScript) - seen
	assert.LessOrEqual(t, renewals, 9, "one in each third of the lease")
	require.NoError(t, h.Release(ctx))
	assert.Zero(t, r.client.Leftovers().Watched)
}

// After a loss, by deletion, by the deadline or by a fixed lease, the same owner takes the lock again with the same Client: it is renewed.
func TestP6_ALockTakenAgainAfterALossIsRenewed(t *testing.T) {
	t.Parallel()
	const lease = 900 * time.Millisecond
	for name, lose := range map[string]func(r *rig){
		"deleted": func(r *rig) { require.NoError(r.t, r.raw.Del(context.Background(), r.key).Err()) },
		"cut off": func(r *rig) { r.proxy.BlackHole(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rlock.WithWatchdogTimeout(lease))
			ctx := someone()
			h, err := r.lock.Acquire(ctx)
			require.NoError(t, err)
			lose(r)
			requireEnd(t, h.Context())
			r.proxy.Heal()
			require.ErrorIs(t, h.Release(ctx), rlock.ErrLost)
			again, err := r.client.NewLock(r.key).Acquire(ctx)
			require.NoError(t, err)
			for end := instant() + 2*lease; instant() < end; time.Sleep(20 * time.Millisecond) {
				r.taken("renewed")
			}
			require.NoError(t, again.Release(ctx))
		})
	}
}

// renewals looks at each command of one lock just before it is sent.
type renewals struct {
	t       *testing.T
	key     string
	watched func() int

	mu       sync.Mutex // guards released
	released map[string]time.Duration
}

// hear checks that renewal has ended when a release is sent, and that no renewal of a field is sent later than its release,
// save one that was on its way to go-redis already.
func (b *renewals) hear(cmd redis.Cmder) {
	args := cmd.Args()
	if len(args) < 5 || args[3] != b.key {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if args[4] == rlock.ChannelOf(b.key) {
		assert.Zero(b.t, b.watched(), "ended before Unlock sends")
		b.released[args[5].(string)] = instant()
		return
	}
	field, _ := args[4].(string)
	if at, ok := b.released[field]; ok {
		assert.Less(b.t, instant()-at, time.Second, "renewed after its release")
	}
}
