package rlock_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// The names of these tests carry the ids of the scenarios that Redisson's own tests pin. Redisson's isLocked,
// isHeldByCurrentThread, getHoldCount and remainTimeToLive are one call here, State, which shows a lock that is absent as
// not locked instead of by a TTL of -2; besides, Held answers for this process without asking Redis.

func TestConformance_L18_T_LOCKED(t *testing.T) {
	t.Parallel()
	l := clientOf(t, redistest.Shared(t)).NewLock(t.Name())
	assertLocked(t, l, false)
	require.NoError(t, l.Lock(t.Context()))
	assertLocked(t, l, true)
	require.NoError(t, l.Unlock(t.Context()))
	assertLocked(t, l, false)
}

func TestConformance_L16_T_LOCKED_OTHER(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	l := c.NewLock(t.Name())
	locked := func() (bool, error) {
		s, err := c.NewLock(t.Name()).State(t.Context())
		return s.Locked, err
	}
	require.NoError(t, l.Lock(t.Context()))
	got, err := elsewhere(locked)
	require.NoError(t, err)
	assert.True(t, got)
	require.NoError(t, l.Unlock(t.Context()))
	got, err = elsewhere(locked)
	require.NoError(t, err)
	assert.False(t, got)
}

func TestConformance_L15_T_HELD(t *testing.T) {
	t.Parallel()
	l := clientOf(t, redistest.Shared(t)).NewLock(t.Name())
	assertHolds(t, l, 0)
	require.NoError(t, l.Lock(t.Context()))
	assertHolds(t, l, 1)
	require.NoError(t, l.Unlock(t.Context()))
	assertHolds(t, l, 0)
}

func TestConformance_L14_T_HELD_OTHER(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	l := c.NewLock(t.Name())
	held := func() (bool, error) {
		other := c.NewLock(t.Name())
		s, err := other.State(t.Context())
		_, shown := other.Held(t.Context())
		return s.Holds != 0 || shown, err
	}
	require.NoError(t, l.Lock(t.Context()))
	got, err := elsewhere(held)
	require.NoError(t, err)
	assert.False(t, got, "ownership is per owner, not per client")
	require.NoError(t, l.Unlock(t.Context()))
	got, err = elsewhere(held)
	require.NoError(t, err)
	assert.False(t, got)
}

func TestConformance_L13_T_HOLD(t *testing.T) {
	t.Parallel()
	l := clientOf(t, redistest.Shared(t)).NewLock(t.Name())
	assertHolds(t, l, 0)
	require.NoError(t, l.Lock(t.Context()))
	assertHolds(t, l, 1)
	require.NoError(t, l.Unlock(t.Context()))
	assertHolds(t, l, 0)
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Lock(t.Context()))
	assertHolds(t, l, 2)
	require.NoError(t, l.Unlock(t.Context()))
	assertHolds(t, l, 1)
	require.NoError(t, l.Unlock(t.Context()))
	assertHolds(t, l, 0)
}

func TestConformance_L20_T_REUSE(t *testing.T) {
	t.Parallel()
	l := clientOf(t, redistest.Shared(t)).NewLock(t.Name())
	for range 2 {
		require.NoError(t, l.Lock(t.Context()))
		require.NoError(t, l.Unlock(t.Context()))
	}
}

func TestConformance_L21_T_REENT(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	l := c.NewLock(t.Name())
	for range 2 {
		got, err := l.TryLock(t.Context())
		require.NoError(t, err)
		require.True(t, got)
	}
	require.NoError(t, l.Unlock(t.Context()))
	got, err := elsewhere(func() (bool, error) { return c.NewLock(t.Name()).TryLock(t.Context()) })
	require.NoError(t, err)
	assert.False(t, got, "one level is left")
	require.NoError(t, l.Unlock(t.Context()))
	assertLocked(t, l, false)
}

// Signals stand for the sleeps of the original: B holds for as long as A needs to fail.
func TestConformance_L19_T_UNLOCKFAIL(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	l := c.NewLock(t.Name())
	locked, failed, unlocked := make(chan error), make(chan struct{}), make(chan error)
	go func() {
		locked <- l.Lock(t.Context())
		<-failed
		unlocked <- l.Unlock(t.Context())
	}()
	require.NoError(t, <-locked)
	err := l.Unlock(t.Context())
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	assert.NotErrorIs(t, err, rlock.ErrLost, "A never had it")
	assertLocked(t, l, true)
	close(failed)
	require.NoError(t, <-unlocked, "the holder was not disturbed")
	assertLocked(t, l, false)
}

func TestConformance_L08_T_FORCE(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	l := c.NewLock(t.Name())
	require.NoError(t, l.Lock(t.Context()))
	removed, err := l.ForceUnlock(t.Context())
	require.NoError(t, err)
	assert.True(t, removed)
	assertLocked(t, l, false)
	assertLocked(t, c.NewLock(t.Name()), false)

	removed, err = l.ForceUnlock(t.Context())
	require.NoError(t, err)
	assert.False(t, removed, "there is nothing to take away")
	requireLoss(t, l.Unlock(t.Context()))
}

func assertLocked(t *testing.T, l *rlock.Lock, want bool) {
	t.Helper()
	s, err := l.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, s.Locked)
}

// assertHolds asks for the calling goroutine.
func assertHolds(t *testing.T, l *rlock.Lock, want int) {
	t.Helper()
	s, err := l.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, s.Holds)
	_, held := l.Held(t.Context())
	assert.Equal(t, want > 0, held)
}
