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

// Attacks P3, taken is no outage: somebody in the middle of the line is called off while its last look is on its way. Redis answers
// all the time; who waits briefly after that is told "taken", and not that Redis is silent.
func TestP3_ALookThatWasCalledOffIsNoSilence(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithFallbackLook(30*time.Second))
	r.warm()
	ann := someone()
	require.NoError(t, r.lock.Lock(ann))
	head, stop := context.WithCancel(someone())
	waits := outcome(func() error { return r.lock.Lock(head) })
	r.eventually(func() bool { return r.client.HasParked(r.key) }, "the head sleeps")
	passed(300 * time.Millisecond)
	before, answered := r.proxy.Received(acquireScript), r.proxy.Answered(acquireScript)
	r.proxy.HoldRequest(150*time.Millisecond, 1, acquireScript)
	middle, callOff := context.WithCancel(someone())
	called := outcome(func() error { _, err := r.lock.TryLock(middle, rlock.Wait(400*time.Millisecond)); return err })
	r.eventually(func() bool { return r.proxy.Received(acquireScript) == before+1 }, "its last look is on its way")
	callOff()
	require.ErrorIs(t, promptly(t, called), context.Canceled)
	r.eventually(func() bool { return r.proxy.Answered(acquireScript) > answered }, "answered, although nobody waits for it")
	got, err := r.lock.TryLock(someone(), rlock.Wait(200*time.Millisecond))
	require.NoError(t, err)
	require.False(t, got)
	stop()
	require.ErrorIs(t, promptly(t, waits), context.Canceled)
	require.NoError(t, r.lock.Unlock(ann))
}

// Attacks P7: another process unlocks by force what is held here, while nobody waits. Who comes then, in the holder's process, does
// not rely on the holder, who has not heard of it yet.
func TestP7_ANewcomerBesideARobbedHolderLooks(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	here, there := clientOf(t, srv).NewLock(t.Name()), clientOf(t, srv).NewLock(t.Name())
	ann, bob := someone(), someone()
	for name, lock := range map[string]func(ctx context.Context) error{
		"a short wait": func(ctx context.Context) error {
			got, err := here.TryLock(ctx, rlock.Wait(200*time.Millisecond))
			assert.True(t, got)
			return err
		},
		"a long wait": func(ctx context.Context) error { return here.Lock(ctx, rlock.Wait(10*time.Second)) },
	} {
		require.NoError(t, here.Lock(ann), name)
		got, err := here.TryLock(bob, rlock.Wait(300*time.Millisecond)) // now the channel is heard, for a while after this too
		require.NoError(t, err)
		require.False(t, got)
		robbed, err := there.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, robbed)
		passed(100 * time.Millisecond) // the message passes, and wakes nobody
		began := time.Now()
		require.NoError(t, lock(bob), name)
		assert.Less(t, time.Since(began), 3*time.Second, name)
		require.NoError(t, here.Unlock(bob))
		require.ErrorIs(t, here.Unlock(ann), rlock.ErrLost)
	}
}
