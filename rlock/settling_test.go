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

// Requests for a lease of a day are lost on their way, which nobody ever learns. A late one could arrive any time, so the
// Client goes on to give back what it may have been granted for as long as the lease: but ever less often.
func TestSettlingALongLeaseSlowsDown(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // of the real clock
	clock := rlock.WithClock(func() time.Duration { return instant() + time.Duration(ahead.Load()) })
	r := newRig(t)
	r.warm()
	const n = 10
	c := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: answerTime, PoolSize: 4 * n},
		rlock.WithRetryBudget(answerTime), clock)
	r.proxy.HoldRequest(time.Hour, faultproxy.Every, acquireScript)
	err := crowd(n, n, func(i int) error {
		return c.NewLock(r.key+strconv.Itoa(i)).Lock(someone(), rlock.Lease(24*time.Hour))
	})
	require.Error(t, err)
	require.Equal(t, n, c.Leftovers().Orphans)
	before := r.proxy.Seen(releaseScript)
	r.eventually(func() bool { return r.proxy.Seen(releaseScript) >= before+n }, "in the beginning it tries often")

	ahead.Store(int64(40 * time.Second))
	passed(1200 * time.Millisecond) // the pauses that had begun are over
	before = r.proxy.Seen(releaseScript)
	passed(1200 * time.Millisecond)
	assert.Equal(t, before, r.proxy.Seen(releaseScript), "less than a minute later: every ten seconds")
	assert.Equal(t, n, c.Leftovers().Orphans, "and still not forgotten")
}

// An orphan with a long lease stands in Redis; its Client takes the lock over, with a short one. Whoever waits elsewhere
// sleeps on the TTL that it saw, a Java peer for all of it: a TTL that falls is news, and is published.
func TestATakeoverThatShortensTheTTLIsPublished(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	messages := hear(t, r.raw, rlock.ChannelOf(r.key))
	require.Empty(t, messages())
	r.proxy.DropReply(1, acquireScript)
	r.proxy.HoldRequest(time.Minute, 1, releaseScript) // the orphan is not given back while the test runs
	before := r.proxy.Answered(acquireScript)
	require.Error(t, r.lock.Lock(shortly(t, 100*time.Millisecond), rlock.Lease(time.Minute)))
	require.Equal(t, before+1, r.proxy.Answered(acquireScript))
	require.Greater(t, r.ttl(), 50*time.Second, "what the others see")

	h, err := r.lock.Acquire(someone(), rlock.Lease(5*time.Second))
	require.NoError(t, err)
	require.LessOrEqual(t, r.ttl(), 5*time.Second)
	assert.Equal(t, []string{"0"}, messages())
	require.NoError(t, h.Release(t.Context()))
}

// What was refused has asked Redis for nothing: of a lease that it would have had, nothing is to be settled.
func TestARefusedLeaseIsNotSettled(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]func(r *rig, h *rlock.Hold, ctx context.Context) error{
		"extend": func(_ *rig, h *rlock.Hold, ctx context.Context) error { return h.Extend(ctx, time.Hour) },
		"re-entry": func(r *rig, _ *rlock.Hold, ctx context.Context) error {
			return r.client.NewLock(r.key, rlock.NonReentrant()).Lock(ctx, rlock.Lease(time.Hour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := newRig(t, rlock.WithWatchdogTimeout(600*time.Millisecond), rlock.WithRetryBudget(answerTime)), someone()
			var lease []rlock.AcquireOption
			if name == "re-entry" { // in a hold that is renewed it would ask for the watchdog's lease
				lease = append(lease, rlock.Lease(600*time.Millisecond))
			}
			h, err := r.lock.Acquire(ctx, lease...)
			require.NoError(t, err)
			require.Error(t, refused(r, h, ctx))
			r.proxy.BlackHole(true)
			requireEnd(t, h.Context())
			require.ErrorIs(t, h.Release(ctx), rlock.ErrLost)
			r.eventually(func() bool { return r.client.Leftovers().Orphans == 0 }, "a lease later")
		})
	}
}
