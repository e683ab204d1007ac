package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// A nested acquire is given up, and its command arrives only after everything that was sent to mend the count. Redis counts
// a level then that nobody has: State names what the owner was told, and the last Unlock frees the lock.
func TestStateCountsWhatTheOwnerWasTold(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), someone()
	r.warm()
	require.NoError(t, r.lock.Lock(ctx))
	r.proxy.HoldRequest(2*answerTime, 1, acquireScript)
	impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	require.Error(t, r.lock.Lock(impatient))
	r.eventually(func() bool { return levelsIn(t, r.raw, r.key) == 2 }, "the late command has come")

	state, err := r.lock.State(ctx)
	require.NoError(t, err)
	assert.Equal(t, 1, state.Holds)
	require.NoError(t, r.lock.Unlock(ctx))
	assert.Empty(t, r.fields())
}

// A nested level names a lease that is shorter than the round trip. What counts is the lease of the hold that it nests in,
// which is long: the level is granted, with one command.
func TestANestedLeaseMayBeShorterThanTheRoundTrip(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), someone()
	r.warm()
	require.NoError(t, r.lock.Lock(ctx, rlock.Lease(time.Minute)))
	r.proxy.DelayReplies(80*time.Millisecond, acquireScript)
	before := r.proxy.Received(acquireScript)
	require.NoError(t, r.lock.Lock(ctx, rlock.Lease(20*time.Millisecond)))
	assert.Equal(t, before+1, r.proxy.Received(acquireScript))
	require.NoError(t, r.lock.Unlock(ctx))
	require.NoError(t, r.lock.Unlock(ctx))
	assert.Empty(t, r.fields())
}
