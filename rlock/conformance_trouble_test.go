package rlock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// The original interrupts 5 ms after the call and sees what happens. Here the server is stopped besides, in a second run, so
// that the reply is in flight for certain when the context ends: the grant comes late, to nobody.
func TestConformance_L03_T_NORENEW(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	c := clientOf(t, srv, rlock.WithWatchdogTimeout(time.Second))
	l := c.NewLock(t.Name())
	assertLocked(t, l, false) // and there is a connection

	if _, err := elsewhere(func() (bool, error) { return tryInterrupted(t.Context(), l) }); err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	requireForgotten(t, srv, c)

	srv.Pause()
	_, err := elsewhere(func() (bool, error) { return tryInterrupted(t.Context(), l) })
	require.ErrorIs(t, err, context.Canceled)
	srv.Resume()
	requireForgotten(t, srv, c)
}

// requireForgotten: the lock of the test's name comes to be free, and stays so beyond the watchdog's second.
func requireForgotten(t *testing.T, srv *redistest.Server, c *rlock.Client) {
	t.Helper()
	requireNothingLeft(t, c)
	raw := srv.Raw(t)
	free := func() bool { return raw.Exists(t.Context(), t.Name()).Val() == 0 }
	eventually(t, free, "given back, or run out")
	require.Never(t, func() bool { return !free() }, 1500*time.Millisecond, 20*time.Millisecond, "held by nobody, and yet there")
}

// tryInterrupted has its context end 5 ms after it began, and gives back what it got.
func tryInterrupted(ctx context.Context, l *rlock.Lock) (bool, error) {
	interrupted, interrupt := context.WithCancel(ctx)
	defer time.AfterFunc(5*time.Millisecond, interrupt).Stop()
	defer interrupt()
	got, err := l.TryLock(interrupted)
	if got {
		err = l.Unlock(interrupted)
	}
	return got, err
}

// The watchdog dies with its Client, and not before; the key runs out by itself.
func TestConformance_L12_T_AUTOEXPIRE(t *testing.T) {
	t.Parallel()
	const watchdog = time.Second
	srv := redistest.Shared(t)
	gone := clientOf(t, srv, rlock.WithWatchdogTimeout(watchdog))
	l := clientOf(t, srv).NewLock(t.Name())
	_, err := elsewhere(func() (bool, error) { return true, gone.NewLock(t.Name()).Lock(t.Context()) })
	require.NoError(t, err)
	for began := time.Now(); time.Since(began) < watchdog*5/2; time.Sleep(watchdog / 20) {
		assertLocked(t, l, true)
	}
	require.Error(t, gone.Close(ended()))
	closed := time.Now()
	assertLocked(t, l, true)
	got, err := l.TryLock(t.Context(), rlock.Wait(10*watchdog))
	require.NoError(t, err)
	require.True(t, got)
	assert.Less(t, time.Since(closed), watchdog+200*time.Millisecond, "at most W after the close; the rest is a busy machine's")
	require.NoError(t, l.Unlock(t.Context()))
}

// Scaled: a wait of 1 s for 5 s. The answer is the transport's, and not that the lock is taken.
func TestConformance_L04_T_DOWN(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	l := clientOf(t, srv).NewLock(t.Name())
	assertLocked(t, l, false)
	srv.Stop()
	got, err := l.TryLock(t.Context(), rlock.Wait(time.Second), rlock.Lease(10*time.Second))
	require.Error(t, err)
	assert.False(t, got)
	assert.NotErrorIs(t, err, rlock.ErrNotAcquired)
	var broken net.Error
	assert.ErrorAs(t, err, &broken)
}
