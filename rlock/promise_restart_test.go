package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Redis restarts with its data while a lock is held, nested, and waited for. The holder keeps it and hears nothing; whoever
// waits goes on waiting, and gets it when it is given back.
func TestP5_ARestartWithDataCostsNothing(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.AppendOnly())
	r := newRigOn(t, srv, rlock.WithWatchdogTimeout(6*time.Second), rlock.WithFallbackLook(time.Minute))
	holder := someone()
	require.NoError(t, r.lock.Lock(holder))
	h, err := r.lock.Acquire(holder)
	require.NoError(t, err)
	near, far := someone(), someone()
	nearGot := outcome(func() error { return r.lock.Lock(near) })
	farGot := outcome(func() error { return r.rival.Lock(far) })
	r.asleep(2)
	srv.Restart(true)
	renewed := r.proxy.Answered(renewScript)
	r.eventually(func() bool { return r.proxy.Answered(renewScript) > renewed }, "renewed after the restart")
	require.NoError(t, h.Context().Err())
	assert.Equal(t, 2, levelsIn(t, r.raw, r.key))
	require.NoError(t, r.lock.Lock(holder), "further levels")
	require.NoError(t, r.lock.Unlock(holder))
	require.NoError(t, h.Release(holder))
	require.NoError(t, r.lock.Unlock(holder))
	for range 2 {
		select {
		case err := <-nearGot:
			require.NoError(t, err)
			require.NoError(t, r.lock.Unlock(near))
		case err := <-farGot:
			require.NoError(t, err)
			require.NoError(t, r.rival.Unlock(far))
		case <-time.After(soonEnough):
			require.FailNow(t, "a waiter is stuck")
		}
	}
}

// Redis restarts empty. The next one in gets in at once, as no promise can prevent; the holder learns of it from the server
// at its next renewal, and the waiters of both Clients go on, one after the other.
func TestP7_ARestartWithoutDataLetsTheWaitersGoOn(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := newRigOn(t, srv, rlock.WithWatchdogTimeout(9*time.Second), rlock.WithFallbackLook(time.Minute))
	holder := someone()
	h, err := r.lock.Acquire(holder)
	require.NoError(t, err)
	told := h.Context()
	got := make(chan error, 3)
	for _, l := range []*rlock.Lock{r.lock, r.lock, r.rival} {
		go func() {
			ctx := someone()
			err := l.Lock(ctx)
			if err == nil {
				time.Sleep(20 * time.Millisecond)
				err = l.Unlock(ctx)
			}
			got <- err
		}()
	}
	r.asleep(2)
	srv.Restart(false)
	for range 3 {
		require.NoError(t, inTime(t, soonEnough, got, "a waiter"))
	}
	select {
	case <-told.Done():
	case <-time.After(5 * time.Second): // a period is 3 s, the deadline is 8 s away
		require.FailNow(t, "the holder is not told")
	}
	require.ErrorIs(t, context.Cause(told), rlock.ErrLost)
	assert.ErrorContains(t, context.Cause(told), "server", "by its word, not by the clock")
	require.ErrorIs(t, h.Release(holder), rlock.ErrLost)
}
