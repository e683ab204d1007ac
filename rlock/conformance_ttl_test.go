package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Three levels of 10 s, two given back: Redisson writes the lease anew with each, rlock leaves the TTL alone. Either way
// it is that of the last explicit lease and not the watchdog's.
func TestConformance_L05_RemainTimeToLiveAfterPartialUnlock(t *testing.T) {
	t.Parallel()
	l := clientOf(t, redistest.Shared(t)).NewLock(t.Name())
	for range 3 {
		require.NoError(t, l.Lock(t.Context(), rlock.Lease(10*time.Second)))
	}
	require.NoError(t, l.Unlock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
	s, err := l.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, s.Holds)
	assert.GreaterOrEqual(t, s.TTL, 9*time.Second)
	assert.LessOrEqual(t, s.TTL, 10*time.Second)
	require.NoError(t, l.Unlock(t.Context()))
}

// The original allows 10 ms between lock and question. What the test measured itself is as strict and suits a busy machine.
func TestConformance_L10_RemainTimeToLive(t *testing.T) {
	t.Parallel()
	l := clientOf(t, redistest.Shared(t)).NewLock(t.Name())
	began := time.Now()
	require.NoError(t, l.Lock(t.Context(), rlock.Lease(time.Hour)))
	s, err := l.State(t.Context())
	require.NoError(t, err)
	assertLease(t, time.Hour, began, s.TTL)

	require.NoError(t, l.Unlock(t.Context()))
	s, err = l.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, rlock.State{}, s, "Redisson says -2 here")

	began = time.Now()
	require.NoError(t, l.Lock(t.Context()))
	s, err = l.State(t.Context())
	require.NoError(t, err)
	assertLease(t, 30*time.Second, began, s.TTL)
	require.NoError(t, l.Unlock(t.Context()))
}
