package rlock_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// A Java process is played by scripts that do to the lock what Redisson's do. The waiters of these tests never look by
// themselves, and most leases are an hour, so whoever gets in was told.
const never = 1000 * time.Hour

// A hash written by hand is a holder; gone and announced, it is none.
func TestWireForeignHolderKeepsOutUntilToldOtherwise(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	raw, l := srv.Raw(t), clientOf(t, srv, rlock.WithFallbackLook(never)).NewLock(t.Name())
	holder := uuid.NewString() + ":7"
	require.NoError(t, raw.HSet(t.Context(), t.Name(), holder, "1").Err())
	require.NoError(t, raw.PExpire(t.Context(), t.Name(), time.Hour).Err())

	ok, err := l.TryLock(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
	s, err := l.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, holder, s.Owner)
	assert.True(t, s.Locked)
	assert.Zero(t, s.Holds)
	assertLease(t, time.Hour, time.Now().Add(-time.Minute), s.TTL)
	require.ErrorIs(t, l.Unlock(t.Context()), rlock.ErrNotHeld, "Java's hold is Java's")
	assertWire(t, raw, t.Name(), holder, "1")

	w := park(t, srv, l)
	require.NoError(t, raw.Del(t.Context(), t.Name()).Err())
	w.assertWaits(t)
	require.EqualValues(t, 1, raw.Publish(t.Context(), rlock.ChannelOf(t.Name()), "0").Val())
	w.requireIn(t)
	require.NoError(t, l.Unlock(w.ctx))
}

// A key that never expires, from PERSIST for instance, is a holder too.
func TestWireForeignHolderWithoutExpiry(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, l := srv.Raw(t), clientOf(t, srv).NewLock(t.Name())
	require.NoError(t, raw.HSet(t.Context(), t.Name(), uuid.NewString()+":7", "1").Err())
	s, err := l.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, rlock.NoTTL, s.TTL)
	ok, err := l.TryLock(t.Context(), rlock.Wait(50*time.Millisecond))
	require.NoError(t, err)
	assert.False(t, ok)
	removed, err := l.ForceUnlock(t.Context())
	require.NoError(t, err)
	assert.True(t, removed)
	ok, err = l.TryLock(t.Context())
	require.NoError(t, err)
	assert.True(t, ok)
	require.NoError(t, l.Unlock(t.Context()))
}

// Java is refused with the TTL that it is to sleep for, hears the last unlock and no other, and gets in.
func TestWireJavaWaiter(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, l := srv.Raw(t), clientOf(t, srv).NewLock(t.Name())
	peer := newJava(t, raw)
	began := time.Now()
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Lock(t.Context()))
	heard := hear(t, raw, rlock.ChannelOf(t.Name()))

	ttl, err := peer.lock(time.Hour)
	require.NoError(t, err)
	assertLease(t, 30*time.Second, began, ttl)
	require.ErrorIs(t, peer.unlock(), redis.Nil, "not Java's to give back")
	require.NoError(t, l.Unlock(t.Context()))
	assert.Empty(t, heard())
	require.NoError(t, l.Unlock(t.Context()))
	assert.Equal(t, []string{"0"}, heard())

	_, err = peer.lock(time.Hour)
	require.ErrorIs(t, err, redis.Nil, "granted")
	ok, err := l.TryLock(t.Context())
	require.NoError(t, err)
	assert.False(t, ok)
	require.NoError(t, peer.unlock())
}

// ForceUnlock takes a Java hold away and tells everybody, Java's waiters included.
func TestWireForceUnlockOfJava(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, l := srv.Raw(t), clientOf(t, srv).NewLock(t.Name())
	peer := newJava(t, raw)
	_, err := peer.lock(time.Hour)
	require.ErrorIs(t, err, redis.Nil)
	heard := hear(t, raw, rlock.ChannelOf(t.Name()))
	removed, err := l.ForceUnlock(t.Context())
	require.NoError(t, err)
	assert.True(t, removed)
	assert.Equal(t, []string{"0"}, heard())
	require.ErrorIs(t, peer.unlock(), redis.Nil)
}

// Java's unlock wakes a waiter of rlock, when its last level goes.
func TestWireJavaUnlockWakes(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	l := clientOf(t, srv, rlock.WithFallbackLook(never)).NewLock(t.Name())
	peer := newJava(t, srv.Raw(t))
	for range 2 {
		_, err := peer.lock(time.Hour)
		require.ErrorIs(t, err, redis.Nil)
	}
	w := park(t, srv, l)
	require.NoError(t, peer.unlock())
	w.assertWaits(t)
	require.NoError(t, peer.unlock())
	w.requireIn(t)
	require.NoError(t, l.Unlock(w.ctx))
}

// Java's watchdog extends Java's hold, and the waiter that counted on the old lease stays out; when it stops, the waiter
// gets in by its own timer. On a hold of rlock the watchdog has no effect.
func TestWireJavaWatchdog(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	l := clientOf(t, srv, rlock.WithFallbackLook(never)).NewLock(t.Name())
	peer := newJava(t, raw)
	_, err := peer.lock(lease)
	require.ErrorIs(t, err, redis.Nil)
	w := park(t, srv, l)
	var renewed time.Time
	for began := time.Now(); time.Since(began) < lease*4/3; time.Sleep(lease / 6) {
		renewed = time.Now()
		require.NoError(t, peer.renew(lease))
	}
	w.assertWaits(t)
	w.requireIn(t)
	assert.GreaterOrEqual(t, time.Since(renewed), lease-10*time.Millisecond)

	field := raw.HKeys(t.Context(), t.Name()).Val()
	require.ErrorIs(t, peer.renew(time.Hour), redis.Nil)
	assert.Equal(t, field, raw.HKeys(t.Context(), t.Name()).Val())
	assert.LessOrEqual(t, raw.PTTL(t.Context(), t.Name()).Val(), 30*time.Second)
	require.NoError(t, l.Unlock(w.ctx))
}
