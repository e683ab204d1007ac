package rlock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// On a plain lock, for the write lock of the original: the renewal can stop, with nothing to renew, and start again.
func TestConformance_RN02_LockAfterTimeout(t *testing.T) {
	t.Parallel()
	const watchdog = time.Second
	srv := redistest.Start(t)
	c := clientOf(t, srv, rlock.WithWatchdogTimeout(watchdog))
	l := c.NewLock(t.Name())
	require.NoError(t, l.Lock(t.Context()))
	srv.Restart(false)
	time.Sleep(2 * watchdog)
	requireLoss(t, l.Unlock(t.Context()))
	require.Zero(t, c.Leftovers().Watched)

	for range 2 {
		again := c.NewLock(t.Name())
		require.NoError(t, again.Lock(t.Context()))
		time.Sleep(2 * watchdog)
		require.NoError(t, again.Unlock(t.Context()), "it was renewed all the time")
		time.Sleep(watchdog)
	}
}

// What the watchdog knows follows the levels: RN-05 and RN-06, whose registry counts owners. An entry that stays would renew
// a lock that nobody holds; one that goes with an inner unlock would lose the outer level.
func TestConformance_RN05_RN06_NothingIsRenewedAfterRelease(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	l := c.NewLock(t.Name())
	for _, levels := range [][]rlock.AcquireOption{
		{}, {rlock.Lease(time.Minute)}, {rlock.MaxHold(time.Minute)},
	} {
		for depth := 1; depth <= 3; depth++ {
			for range depth {
				require.NoError(t, l.Lock(t.Context(), levels...))
				assert.Equal(t, 1, c.Leftovers().Watched)
			}
			for left := range depth {
				assert.Equal(t, 1, c.Leftovers().Watched, "after %d unlocks of %d", left, depth)
				require.NoError(t, l.Unlock(t.Context()))
			}
			assert.Zero(t, c.Leftovers().Watched)
		}
	}
	requireNothingLeft(t, c)
}

// RN-07 to RN-11 are about the loop that renews in batches: that it ends, leaves none out, and what a failing batch does to
// the others. More locks than two batches hold, over several leases; one of them answers every renewal with an error (it
// became a string), one is deleted. Both lose their own hold and nobody else's, where Redisson ends the whole pass with the
// error of the one, and starts the next with it again.
func TestConformance_RN07_RN11_ManyBatchesAndAFailingOne(t *testing.T) {
	t.Parallel()
	const watchdog, locks = 2 * time.Second, 250
	srv := redistest.Start(t)
	c, raw := clientOf(t, srv, rlock.WithWatchdogTimeout(watchdog)), srv.Raw(t)
	holds := make([]*rlock.Hold, locks)
	require.NoError(t, crowd(workers, locks, func(i int) (err error) {
		holds[i], err = c.NewLock(nameOf(t, i)).Acquire(t.Context())
		return err
	}))
	const broken, deleted = locks / 3, locks / 2
	require.NoError(t, raw.Set(t.Context(), nameOf(t, broken), "no lock at all", redis.KeepTTL).Err())
	require.NoError(t, raw.Del(t.Context(), nameOf(t, deleted)).Err())

	time.Sleep(3 * watchdog)
	for i, h := range holds {
		ttl, err := raw.PTTL(t.Context(), nameOf(t, i)).Result()
		require.NoError(t, err)
		if i == broken || i == deleted {
			assert.False(t, h.Held())
			require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
			continue
		}
		assert.True(t, h.Held(), "lock %d", i)
		assert.Greater(t, ttl, watchdog/3, "lock %d is renewed each third", i)
	}
	for i, h := range holds {
		if err := h.Release(t.Context()); i == broken || i == deleted {
			requireLoss(t, err)
		} else {
			require.NoError(t, err)
		}
	}
	assert.Zero(t, c.Leftovers().Watched)
}

// RN-09: who holds nothing sends nothing.
func TestConformance_RN09_NothingToRenew(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	c := clientOf(t, srv, rlock.WithWatchdogTimeout(300*time.Millisecond))
	l := c.NewLock(t.Name())
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
	m := watch(t, srv)
	time.Sleep(time.Second)
	assert.Empty(t, m.commands())
}

// A hold with a fixed lease that outlives the watchdog's period is looked at, at the same pace, but its TTL is left alone.
func TestConformance_FixedLeaseIsNotRenewed(t *testing.T) {
	t.Parallel()
	const watchdog = 300 * time.Millisecond
	srv := redistest.Start(t)
	l := clientOf(t, srv, rlock.WithWatchdogTimeout(watchdog)).NewLock(t.Name())
	began := time.Now()
	require.NoError(t, l.Lock(t.Context(), rlock.Lease(time.Hour)))
	set := time.Now()
	m := watch(t, srv)
	time.Sleep(5 * watchdog)
	looks := m.commands()
	assert.NotEmpty(t, looks)
	assert.False(t, slices.ContainsFunc(looks, func(cmd string) bool { return cmd != "evalsha" && cmd != "eval" }), "%v", looks)
	s, err := l.State(t.Context())
	require.NoError(t, err)
	assertLease(t, time.Hour, began, s.TTL)
	assert.LessOrEqual(t, s.TTL, time.Hour-time.Since(set)+time.Second, "the TTL went down with the time")
	require.NoError(t, l.Unlock(t.Context()))
}

func nameOf(t testing.TB, i int) string {
	t.Helper()
	return fmt.Sprintf("%s/%d", t.Name(), i)
}
