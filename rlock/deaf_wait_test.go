package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/pubsub"
	"github.com/rlock-go/rlock/rlock"
)

// Commands are answered, SUBSCRIBE is not: something between here and Redis swallows it. No message comes then, and a wait
// that counts on one would end with "taken" for a lock that is free.

// A waiter that hears nothing looks from time to time, also in a wait that is shorter than a second.
func TestADeafWaiterLooks(t *testing.T) {
	t.Parallel()
	r := newDeafRig(t)
	holder, waiter := someone(), someone()
	require.NoError(t, r.rival.Lock(holder))
	in := outcome(func() error { return r.lock.Lock(waiter, rlock.Wait(900*time.Millisecond)) })
	r.asksForMessages()
	passed(50 * time.Millisecond)
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, <-in, "it was free for most of the time that the caller waited")
	require.NoError(t, r.lock.Unlock(waiter))
}

// A waiter comes to the head of the line while the lock is free. It does not wait long for a confirmation before it looks.
func TestADeafHeadLooksSoon(t *testing.T) {
	t.Parallel()
	r := newDeafRig(t)
	assert.True(t, r.lastInLine(800*time.Millisecond, 0), "it was free all the time")
}

// And it looks at least once, even if its wait is over before it gave the confirmation up.
func TestADeafHeadLooksBeforeItsWaitIsOver(t *testing.T) {
	t.Parallel()
	r := newDeafRig(t)
	for range 5 { // a busy machine may bring it to the head too late
		if r.lastInLine(200*time.Millisecond, 150*time.Millisecond) {
			return
		}
	}
	assert.Fail(t, "free, and not one look in a wait at the head of the line")
}

// Each head pays once for the silence, so it must be little: else a line gets through at a second each.
func TestADeafLineGetsThrough(t *testing.T) {
	t.Parallel()
	const n = 4
	late := watchStalls(t)
	r := newDeafRig(t)
	holder := someone()
	require.NoError(t, r.lock.Lock(holder))
	line := outcome(func() error {
		return crowd(n, n, func(int) error { return r.lock.Do(someone(), func(context.Context) error { return nil }) })
	})
	r.eventually(func() bool { return r.client.Leftovers().Seats == n+1 }, "all in line")
	r.asksForMessages()
	began := instant()
	require.NoError(t, r.lock.Unlock(holder))
	require.NoError(t, inTime(t, 20*time.Second, line, "one after the other"))
	assert.Less(t, instant()-began, n*500*time.Millisecond+4*late.late())
}

// newDeafRig has a Client that can send commands but not subscribe, and no look that would save it soon.
func newDeafRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, rlock.WithFallbackLook(5*time.Second), rlock.WithHub(pubsub.Config{}))
	r.warm()
	r.proxy.DropReply(faultproxy.Every, faultproxy.Command("subscribe"))
	return r
}

// asksForMessages waits until a waiter of the Client has tried to subscribe.
func (r *rig) asksForMessages() {
	r.t.Helper()
	r.eventually(func() bool {
		return r.proxy.Seen(faultproxy.And(faultproxy.Command("subscribe"), faultproxy.Word(rlock.ChannelOf(r.key)))) > 0
	}, "the head is waiting")
}

// lastInLine reports whether a waiter gets in who waits so long, and who is behind another that leaves the line after such a
// time, just when the lock gets free.
func (r *rig) lastInLine(wait, after time.Duration) (in bool) {
	r.t.Helper()
	holder, last := someone(), someone()
	require.NoError(r.t, r.rival.Lock(holder))
	first, leave := context.WithCancel(someone())
	defer leave()
	left := outcome(func() error { return r.lock.Do(first, func(context.Context) error { return nil }) })
	r.eventually(func() bool { return r.client.Leftovers().Queues == 1 }, "the first in line")
	r.asksForMessages()
	done := outcome(func() (err error) {
		in, err = r.lock.TryLock(last, rlock.Wait(wait))
		return err
	})
	r.eventually(func() bool { return r.client.Leftovers().Seats == 2 }, "in line")
	passed(after)
	leave()
	if err := <-left; err != nil { // else it got in itself, at the last moment
		require.ErrorIs(r.t, err, context.Canceled)
	}
	require.NoError(r.t, r.rival.Unlock(holder))
	require.NoError(r.t, <-done)
	if in {
		require.NoError(r.t, r.lock.Unlock(last))
	}
	return in
}
