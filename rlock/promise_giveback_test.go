package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// Nothing about the caller's context keeps a lock from being given back.
func TestP8_GivingBackWithADeadContext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := ownerid.New()
	cancelled, cancel := context.WithCancel(ownerid.NewContext(context.Background(), id))
	late, cancelLate := context.WithDeadline(ownerid.NewContext(context.Background(), id), time.Now().Add(time.Hour))
	defer cancelLate()
	require.NoError(t, r.lock.Lock(cancelled))
	require.NoError(t, r.lock.Lock(late))
	h, err := r.lock.Acquire(late)
	require.NoError(t, err)
	cancel()
	require.NoError(t, r.lock.Unlock(cancelled))
	require.NoError(t, h.Release(ended()), "the owner of a hold is known without the context")
	require.NoError(t, r.lock.Unlock(cancelled))
	assert.Empty(t, r.fields())
	ctx, cancel := context.WithCancel(someone())
	require.ErrorIs(t, r.lock.Do(ctx, func(context.Context) error { cancel(); return ctx.Err() }), context.Canceled)
	assert.Empty(t, r.fields())
	h, err = r.lock.Acquire(someone())
	require.NoError(t, err)
	require.Error(t, h.Release(nil)) //nolint:staticcheck // the point
	require.True(t, h.Held())
	require.NoError(t, h.Release(ended()))
	assert.Empty(t, r.fields())
}

// Redis hangs: it is stopped, or the network swallows everything. Unlock, Release and Do come back within the retry budget
// and the time that one more answer may take, and the key is gone soon after Redis is back.
func TestP8_GivingBackWhileRedisHangsIsBounded(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	for name, hang := range map[string]func(r *rig) (heal func()){
		"stopped":    func(*rig) func() { srv.Pause(); return srv.Resume },
		"black hole": func(r *rig) func() { r.proxy.BlackHole(true); return r.proxy.Heal },
		"closed":     func(r *rig) func() { r.proxy.Refuse(true); r.proxy.Cut(); return r.proxy.Heal },
	} {
		t.Run(name, func(t *testing.T) {
			late := watchStalls(t)
			const budget = 600 * time.Millisecond
			r := newRigOn(t, srv, rlock.WithRetryBudget(budget))
			ctx, other := someone(), r.client.NewLock(r.key+":other")
			require.NoError(t, r.lock.Lock(ctx))
			h, err := other.Acquire(ctx)
			require.NoError(t, err)
			heal := hang(r)
			from := instant()
			unlock := outcome(func() error { return r.lock.Unlock(ctx) })
			release := outcome(func() error { return h.Release(ended()) })
			for _, done := range []<-chan error{unlock, release} {
				err := inTime(t, 20*time.Second, done, "giving back")
				require.Error(t, err)
				assert.NotErrorIs(t, err, rlock.ErrNotHeld)
			}
			assert.Less(t, instant()-from, budget+answerTime+100*time.Millisecond+4*late.late())
			heal()
			r.gone(5*time.Second, "far sooner than the lease of 30s")
			r.eventually(func() bool { return r.raw.Exists(t.Context(), other.Name()).Val() == 0 }, "released too")
			r.idle(10 * time.Second)
		})
	}
}

// All connections of the pool are taken, and the redis client would wait for one for long: Unlock is bounded all the same.
func TestP8_GivingBackWithABlockedPoolIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := redis.NewClient(&redis.Options{Addr: r.srv.Addr(), PoolSize: 1, PoolTimeout: time.Minute, ReadTimeout: answerTime})
	c := newClient(t, rdb, rlock.WithRetryBudget(300*time.Millisecond))
	t.Cleanup(func() { _ = rdb.Close() })
	l, ctx := c.NewLock(r.key), someone()
	require.NoError(t, l.Lock(ctx))
	blocked := outcome(func() error { return rdb.BLPop(t.Context(), 2500*time.Millisecond, r.key+":never").Err() })
	r.eventually(func() bool { return rdb.PoolStats().IdleConns == 0 }, "the pool is empty")
	require.Error(t, l.Unlock(ctx))
	require.Empty(t, blocked, "the pool is still empty")
	require.ErrorIs(t, <-blocked, redis.Nil)
	r.gone(5*time.Second, "the server is told as soon as it can be reached")
}

// The outage is longer than the watchdog's time-out, but much shorter than the fixed lease that could not be given back: the
// server is told as soon as it can be reached.
func TestP8_ALongLeaseIsGivenBackAfterALongOutage(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(400*time.Millisecond), rlock.WithRetryBudget(50*time.Millisecond))
	ctx := someone()
	require.NoError(t, r.lock.Lock(ctx, rlock.Lease(time.Minute)))
	r.proxy.Refuse(true)
	r.proxy.Cut()
	require.Error(t, r.lock.Unlock(ctx))
	passed(2 * time.Second)
	r.proxy.Heal()
	r.gone(10*time.Second, "far sooner than the lease of a minute")
}
