package rlock_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/pubsub"
	"github.com/rlock-go/rlock/rlock"
)

// soonEnough is far more than a wake-up takes and far less than the 30 s after which a waiter without one would look.
const soonEnough = 8 * time.Second

// newDreamer is a rig whose waiters rely on being woken: the fallback look is a minute away.
func newDreamer(t *testing.T) *rig {
	t.Helper()
	return newRig(t, rlock.WithFallbackLook(time.Minute))
}

// The subscriber's connection is killed and cannot come back while the lock is unlocked: the message is lost. Two times.
func TestP7_AnUnlockInTheGapOfAReconnect(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	for range 2 {
		holder := someone()
		require.NoError(t, r.rival.Lock(holder))
		waiter, cancel := context.WithCancel(someone())
		defer cancel()
		got := outcome(func() error { return r.lock.Lock(waiter) })
		r.asleep(1)
		r.proxy.Refuse(true)
		r.proxy.Cut()
		require.NoError(t, r.rival.Unlock(holder))
		r.proxy.Refuse(false)
		require.NoError(t, inTime(t, soonEnough, got, "the waiter"))
		require.NoError(t, r.lock.Unlock(waiter))
	}
}

// The lock is unlocked when the waiter has failed and is not subscribed yet. The confirmation comes later than the waiter has
// patience for, or sooner: then a look is due although no message came after it.
func TestP7_AnUnlockBeforeTheSubscription(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	subscribe := faultproxy.Command("subscribe")
	const soon, late = 50 * time.Millisecond, 300 * time.Millisecond
	for _, confirmed := range []time.Duration{late, soon, soon, soon} { // a busy machine may unlock too late for some of them
		holder, waiter := someone(), someone()
		require.NoError(t, r.rival.Lock(holder))
		received := r.proxy.Received(subscribe)
		r.proxy.HoldRequest(confirmed, 1, subscribe)
		got := outcome(func() error { return r.lock.Lock(waiter) })
		require.NoError(t, r.proxy.WaitReceived(t.Context(), subscribe, received+1))
		require.NoError(t, r.rival.Unlock(holder))
		require.NoError(t, inTime(t, soonEnough, got, "the waiter"))
		require.NoError(t, r.lock.Unlock(waiter))
		r.idle(10 * time.Second) // so that the next one has to subscribe
	}
}

// The subscriber's connection goes silent, without an error. The message disappears in it.
func TestP7_ABlackHoledSubscriber(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	holder, waiter := someone(), someone()
	require.NoError(t, r.rival.Lock(holder))
	got := outcome(func() error { return r.lock.Lock(waiter) })
	r.asleep(1)
	pings := r.proxy.Seen(faultproxy.Command("ping"))
	r.proxy.DropReply(1, faultproxy.Command("ping"))
	require.NoError(t, r.proxy.Wait(t.Context(), faultproxy.Command("ping"), pings+1))
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, inTime(t, soonEnough, got, "the waiter"))
	require.NoError(t, r.lock.Unlock(waiter))
}

// Nobody announces the end of a lease; the waiter knows when it comes.
func TestP7_TheHoldersLeaseEnds(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	late := watchStalls(t)
	require.NoError(t, r.raw.HSet(t.Context(), r.key, "8743c9c0-0795-4907-87fd-6c719a6b4586:1", 1).Err())
	require.NoError(t, r.raw.PExpire(t.Context(), r.key, 700*time.Millisecond).Err())
	from := instant()
	waiter := someone()
	require.NoError(t, inTime(t, soonEnough, outcome(func() error { return r.lock.Lock(waiter) }), "the waiter"))
	assert.Less(t, instant()-from, 800*time.Millisecond+4*late.late())
	require.NoError(t, r.lock.Unlock(waiter))
}

// Nobody announces a deletion either: the fallback look finds it.
func TestP7_AnOperatorDeletesTheKey(t *testing.T) {
	t.Parallel()
	r := newRig(t) // looks every half a second
	waiter := someone()
	require.NoError(t, r.rival.Lock(someone()))
	got := outcome(func() error { return r.lock.Lock(waiter) })
	r.asleep(1)
	require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
	require.NoError(t, inTime(t, soonEnough, got, "the waiter"))
	require.NoError(t, r.lock.Unlock(waiter))
}

// A holder that never expires, after PERSIST for instance, is asked again now and then, and not all the time.
func TestP7_AHolderWithoutExpiryIsAskedNowAndThen(t *testing.T) {
	t.Parallel()
	r := newRig(t) // looks every half a second
	require.NoError(t, r.raw.HSet(t.Context(), r.key, "8743c9c0-0795-4907-87fd-6c719a6b4586:1", 1).Err())
	waiter := someone()
	got := outcome(func() error { return r.lock.Lock(waiter) })
	r.asleep(1)
	before := r.proxy.Received(acquireScript)
	r.eventually(func() bool { return r.proxy.Received(acquireScript) > before }, "it looks")
	before = r.proxy.Received(acquireScript)
	passed(time.Second)
	assert.LessOrEqual(t, r.proxy.Received(acquireScript)-before, 5, "and sleeps in between")
	require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
	require.NoError(t, inTime(t, soonEnough, got, "the waiter"))
	require.NoError(t, r.lock.Unlock(waiter))
}

// The waiter that was woken has its look under way when it is cancelled. The next one goes on.
func TestP7_AWaiterThatLeavesPassesItsWakeUpOn(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	for range 5 {
		holder := someone()
		require.NoError(t, r.rival.Lock(holder))
		first, cancel := context.WithCancel(someone())
		gone := outcome(func() error { return r.lock.Lock(first) })
		r.asleep(1)
		second := someone()
		got := outcome(func() error { return r.lock.Lock(second) })
		r.eventually(func() bool { return r.client.Leftovers().Seats == 2 }, "it queues")
		received := r.proxy.Received(acquireScript)
		r.proxy.HoldRequest(300*time.Millisecond, 1, acquireScript)
		require.NoError(t, r.rival.Unlock(holder))
		require.NoError(t, r.proxy.WaitReceived(t.Context(), acquireScript, received+1))
		cancel()
		require.ErrorIs(t, <-gone, context.Canceled)
		require.NoError(t, inTime(t, soonEnough, got, "the second waiter"))
		require.NoError(t, r.lock.Unlock(second))
	}
}

// Fifty waiters, some of which leave at any moment, and a holder elsewhere who comes and goes. Whoever stays gets its turn,
// and the lock never lies idle for long.
func TestP7_FiftyWaitersOfWhomManyLeave(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	holder := someone()
	require.NoError(t, r.rival.Lock(holder))
	var stayed, left atomic.Int64
	all := outcome(func() error {
		return crowd(50, 50, func(i int) error {
			ctx, cancel := context.WithCancel(someone())
			defer cancel()
			if i%2 == 0 {
				ctx, cancel = context.WithTimeout(ctx, rand.N(400*time.Millisecond))
				defer cancel()
			}
			if err := r.lock.Lock(ctx); err != nil {
				left.Add(1)
				return ctx.Err()
			}
			stayed.Add(1)
			time.Sleep(time.Millisecond)
			return r.lock.Unlock(ctx)
		})
	})
	others := outcome(func() error {
		for range 30 {
			time.Sleep(10 * time.Millisecond)
			if err := r.rival.Unlock(holder); err != nil {
				return err
			}
			if err := r.rival.Lock(holder); err != nil {
				return err
			}
		}
		return r.rival.Unlock(holder)
	})
	err := inTime(t, 2*soonEnough, all, "all waiters")
	if left.Load() > 0 {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.NoError(t, inTime(t, soonEnough, others, "the holder elsewhere"))
	t.Logf("%d got it, %d left", stayed.Load(), left.Load())
	assert.GreaterOrEqual(t, stayed.Load(), int64(25))
	assert.EqualValues(t, 50, stayed.Load()+left.Load())
	r.idle(10 * time.Second)
}

// A user who may not subscribe polls.
func TestP7_WithoutTheRightToSubscribe(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := newRigOn(t, srv)
	require.NoError(t, r.raw.Do(t.Context(), "ACL", "SETUSER", "mute", "reset", "on", ">secret", "~*", "resetchannels",
		"+@all", "-subscribe").Err())
	l := r.clientWith(&redis.Options{Addr: srv.Addr(), Username: "mute", Password: "secret"},
		rlock.WithFallbackLook(time.Minute), rlock.WithHub(pubsub.Config{Linger: time.Millisecond})).NewLock(r.key)
	holder, waiter := someone(), someone()
	require.NoError(t, r.rival.Lock(holder))
	got := outcome(func() error { return l.Lock(waiter) })
	passed(500 * time.Millisecond)
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, inTime(t, soonEnough, got, "the waiter"))
	require.NoError(t, l.Unlock(waiter))
}
