package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// Attacks promise P3: no retries are wanted. The head of the line loses one reply and fails; those behind it have not asked yet,
// and get in.
func TestRule4_WithoutRetriesEachWaiterStillAsksOnce(t *testing.T) {
	t.Parallel()
	const line = 6
	r := newRig(t, rlock.WithRetryBudget(0))
	r.warm()
	holder := someone()
	require.NoError(t, r.rival.Lock(holder))
	in := make(chan error, line)
	for i := range line {
		go func() {
			ctx := someone()
			err := r.lock.Lock(ctx, rlock.Wait(20*time.Second))
			if err == nil {
				err = r.lock.Unlock(ctx)
			}
			in <- err
		}()
		r.eventually(func() bool { return r.client.Leftovers().Seats == i+1 }, "in line")
	}
	r.asleep(1)
	r.proxy.DropReply(1, acquireScript)
	require.NoError(t, r.rival.Unlock(holder))
	failed := 0
	for range line {
		if err := promptly(t, in); err != nil {
			failed++
			t.Log(err)
		}
	}
	assert.LessOrEqual(t, failed, 1, "one reply was lost")
}
