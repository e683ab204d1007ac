package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// What no test of Redisson pins, as far as it is about a plain lock: losses that the holder is told of, and an unlock that
// is repeated because the first answer was lost.

// The server is out of reach: the holder knows from its own clock, before the key is gone.
func TestConformance_Gap_LossIsToldBeforeTheLeaseEnds(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := faultproxy.New(t, srv.Addr())
	c := clientOf(t, srv, rlock.WithWatchdogTimeout(3*time.Second))
	far := newClient(t, through(t, srv, proxy), rlock.WithWatchdogTimeout(3*time.Second))
	h, err := far.NewLock(t.Name()).Acquire(t.Context())
	require.NoError(t, err)
	proxy.BlackHole(true)
	<-h.Context().Done()

	s, err := c.NewLock(t.Name()).State(t.Context())
	require.NoError(t, err)
	assert.True(t, s.Locked, "nobody can have got in yet")
	assert.Less(t, s.TTL, 2*rlock.Margin(3*time.Second), "and the holder had its lease nearly to the end")
	require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
	assert.False(t, h.Held())
	requireLoss(t, h.Release(t.Context()))
	proxy.BlackHole(false)
	ok, err := c.NewLock(t.Name()).TryLock(t.Context(), rlock.Wait(10*time.Second))
	require.NoError(t, err)
	assert.True(t, ok)
}

// The key is deleted under the holder: told at the next renewal, and the late unlock does not touch the next holder.
func TestConformance_Gap_LossByDeletionIsTold(t *testing.T) {
	t.Parallel()
	const watchdog = time.Second
	for name, opts := range map[string][]rlock.AcquireOption{
		"watched": nil, "fixed lease": {rlock.Lease(time.Hour)}, "max hold": {rlock.MaxHold(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Shared(t)
			c, rival := clientOf(t, srv, rlock.WithWatchdogTimeout(watchdog)), clientOf(t, srv)
			h, err := c.NewLock(t.Name()).Acquire(t.Context(), opts...)
			require.NoError(t, err)
			require.NoError(t, srv.Raw(t).Del(t.Context(), t.Name()).Err())
			next, err := rival.NewLock(t.Name()).TryAcquire(t.Context())
			require.NoError(t, err)
			select {
			case <-h.Context().Done():
			case <-time.After(watchdog): // a renewal comes each third of it
				t.Fatal("the holder was not told")
			}
			require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
			requireLoss(t, h.Release(t.Context()))
			requireNothingLeft(t, c)
			require.NoError(t, next.Release(t.Context()), "the rival's hold is its own")
		})
	}
}

// Redisson keeps a marker key per unlock for this. Here the unlock names the count it wants: the repeat finds it so, both
// within levels and at the last, where a rival may be in by then.
func TestConformance_Gap_RetriedUnlockWhoseFirstReplyWasLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*faultproxy.Proxy, faultproxy.Match){
		"cut":     func(p *faultproxy.Proxy, m faultproxy.Match) { p.CutAfterWrite(1, m) },
		"dropped": func(p *faultproxy.Proxy, m faultproxy.Match) { p.DropReply(1, m) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			proxy := faultproxy.New(t, srv.Addr())
			c, near := newClient(t, through(t, srv, proxy)), clientOf(t, srv)
			release := faultproxy.And(faultproxy.Word(t.Name()), faultproxy.Word(rlock.ChannelOf(t.Name())))
			l := c.NewLock(t.Name())
			for range 3 {
				require.NoError(t, l.Lock(t.Context()))
			}
			for left := 2; left >= 0; left-- {
				sent := proxy.Seen(release)
				lose(proxy, release)
				require.NoError(t, l.Unlock(t.Context()), "%d left", left)
				assert.GreaterOrEqual(t, proxy.Seen(release)-sent, 2, "the proxy did lose a reply")
				assertHolds(t, l, left)
			}
			ok, err := near.NewLock(t.Name()).TryLock(t.Context())
			require.NoError(t, err)
			assert.True(t, ok, "as many unlocks as locks")
			require.ErrorIs(t, l.Unlock(t.Context()), rlock.ErrNotHeld)
			require.NoError(t, near.NewLock(t.Name()).Unlock(t.Context()))
		})
	}
}

// through is a client by way of the proxy that does not wait long for what is lost.
func through(t *testing.T, srv *redistest.Server, p *faultproxy.Proxy) *redis.Client {
	t.Helper()
	return srv.Client(t, func(o *redis.Options) {
		o.Addr, o.ReadTimeout, o.DialTimeout = p.Addr(), 300*time.Millisecond, time.Second
	})
}
