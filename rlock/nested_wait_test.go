package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// Redis is silent while an owner enters its own hold once more, for so long that it is worth a line. It waits for Redis and not
// for itself, and the line does not say so: the context with the owner was handed on.
func TestALongNestedWaitIsNotTakenForOneForItself(t *testing.T) {
	t.Parallel()
	lines := &logbook{}
	r := newRig(t, rlock.WithWatchdogTimeout(500*time.Millisecond), lines.option())
	ctx := someone()
	require.NoError(t, r.lock.Lock(ctx, rlock.Lease(time.Minute)))
	r.proxy.BlackHole(true)
	nested := outcome(func() error { return r.lock.Lock(ctx) })
	r.eventually(func() bool { return len(lines.waits(t)) == 1 }, "a line")
	line := lines.waits(t)[0]
	assert.NotContains(t, line["msg"], "wait for itself")
	assert.NotContains(t, line, "holder")
	r.proxy.Heal()
	require.NoError(t, <-nested)
	require.NoError(t, r.lock.Unlock(ctx))
	require.NoError(t, r.lock.Unlock(ctx))
}
