package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
)

// All newcomers come at once, so nobody is in line yet whom they could stand behind. If each of them looked first, Redis
// and the connections would be busy with nothing else, and the time-outs would begin. One look tells the whole crowd.
func TestABurstOfNewcomersCostsFewCommands(t *testing.T) {
	t.Parallel()
	const n = 2000
	r := newRig(t)
	r.warm()
	holder := someone()
	require.NoError(t, r.rival.Lock(holder))
	r.proxy.DelayReplies(50 * time.Millisecond)
	ofThisLock := faultproxy.Word(r.key)
	line := waitAll(t, r.client, n, func(ctx context.Context, _ int) error { return r.lock.Lock(ctx) })
	r.asleep(1)
	assert.Less(t, r.proxy.Received(ofThisLock), 15)
	require.Empty(t, line.done, "nobody has failed")
	line.leave(t, n)
	require.NoError(t, r.rival.Unlock(holder))
}
