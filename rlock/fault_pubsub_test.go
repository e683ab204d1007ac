package rlock_test

// The faults of the wake-up, as those meet them who wait: P1, P2, P3, P4 and P10. In most of them the fallback look is a
// minute away and so is the end of the holder's lease, so that a wake-up that is lost makes the test fail.

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
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

// Attacks promise P7, no wake-up is lost: the unlock falls into each of the gaps between the waiter's first look and its
// sleep, where one of its commands has run and the answer is still under way.
func TestFault_P1_AnUnlockInAnyGapBeforeTheSleepIsNoticed(t *testing.T) {
	t.Parallel()
	const gap = 80 * time.Millisecond // shorter than a waiter waits for the confirmation
	subscribe := faultproxy.Command("subscribe")
	for name, c := range map[string]struct {
		of     faultproxy.Match // the command whose answer is late
		answer int              // 1: its first run
	}{
		"after the first look":        {of: acquireScript, answer: 1},
		"after the server subscribes": {of: subscribe, answer: 1},
		"after the second look":       {of: acquireScript, answer: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newDreamer(t)
			r.warm()
			holder, waiter := someone(), someone()
			require.NoError(t, r.rival.Lock(holder))
			before := r.proxy.Answered(c.of)
			r.proxy.DelayReplies(gap, c.of)
			got := outcome(func() error { return r.lock.Lock(waiter) })
			require.NoError(t, r.proxy.WaitAnswered(shortly(t, soonEnough), c.of, before+c.answer))
			require.NoError(t, r.rival.Unlock(holder))
			require.NoError(t, inTime(t, soonEnough, got, "the waiter"))
			require.NoError(t, r.lock.Unlock(waiter))
		})
	}
}

// Attacks promise P7: whoever is in front leaves at the very moment of the unlock, with the wake-up in hand or about to
// get it. The two behind it get their turn by that one message.
func TestFault_P2_AWakeUpIsNotSpentOnAWaiterThatLeaves(t *testing.T) {
	t.Parallel()
	const rounds = 40
	r := newRig(t, rlock.WithFallbackLook(time.Minute), rlock.WithWatchdogTimeout(4*time.Second)) // a rival's is 30 s
	visit := func(ctx context.Context) <-chan error {
		return outcome(func() error { return r.lock.Do(ctx, func(context.Context) error { return nil }) })
	}
	left := 0
	for range rounds {
		holder := someone()
		require.NoError(t, r.rival.Lock(holder))
		leaver, leave := context.WithCancel(someone())
		leaves := visit(leaver)
		r.eventually(func() bool { return r.client.Leftovers().Queues == 1 }, "the first waits")
		stay := []<-chan error{visit(someone()), visit(someone())}
		r.eventually(func() bool { return r.client.Leftovers().Seats == 3 }, "all wait")
		time.AfterFunc(rand.N(time.Millisecond), leave)
		require.NoError(t, r.rival.Unlock(holder))
		if err := inTime(t, soonEnough, leaves, "whoever leaves"); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			left++
		}
		for _, got := range stay {
			require.NoError(t, inTime(t, soonEnough, got, "one that stays"))
		}
	}
	t.Logf("%d of %d left in time", left, rounds)
	assert.Positive(t, left)
	r.idle(10 * time.Second)
}

// Attacks promise P7: the server kills the subscriber's connection and frees half of a thousand locks before it can come
// back, and does the same to the other half when some of the channels are heard again. Nobody hears one of these
// messages.
func TestFault_P3_ASubscriberKilledTwiceLeavesNoneOfAThousandAsleep(t *testing.T) {
	t.Parallel()
	const locks = 1000
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	c := clientOf(t, srv, rlock.WithFallbackLook(time.Minute))
	names := takenBySomebody(t, raw, locks)
	all := waitAll(t, c, locks, func(_ context.Context, i int) error { return c.NewLock(names[i]).Lock(someone()) })
	heard := func() int { return len(raw.PubSubChannels(t.Context(), "*").Val()) }
	eventually(t, func() bool { return scriptsRun(t, raw) >= 2*locks }, "each has looked twice")
	eventually(t, func() bool { return heard() == locks }, "all are subscribed")
	require.Empty(t, all.done)

	killAndFree(t, raw, names[:locks/2])
	eventually(t, func() bool { return heard() > 0 }, "it comes back")
	killAndFree(t, raw, names[locks/2:])
	for range locks {
		require.NoError(t, inTime(t, soonEnough, all.done, "a waiter"))
	}
	eventually(t, func() bool { return subscribers(t, raw) <= 1 }, "the connections of before are gone")
}

// Attacks promise P7: a holder dies without a word, and five waiters here and five elsewhere want the lock. One gets it
// when the lease ends, not sooner and hardly later, and the others one by one.
func TestFault_P4_ADeadHoldersLockGoesToOneWaiterWhenItsLeaseEnds(t *testing.T) {
	t.Parallel()
	const each = 5
	r := newDreamer(t)
	late := watchStalls(t)
	p := r.startHolder("idles")
	var granted []time.Duration // guarded by the lock alone
	enter := func(context.Context) error {
		granted = append(granted, instant())
		return nil
	}
	all := outcome(func() error {
		locks := []*rlock.Lock{r.lock, r.rival}
		return crowd(2*each, 2*each, func(i int) error { return locks[i%2].Do(someone(), enter) })
	})
	r.asleep(2)
	require.NoError(t, p.cmd.Process.Kill())
	require.Error(t, p.cmd.Wait())
	asked := instant()
	ttl := r.ttl()
	answered := instant()
	require.NoError(t, inTime(t, soonEnough, all, "all waiters"))
	require.Len(t, granted, 2*each, "one after the other")
	assert.GreaterOrEqual(t, granted[0], asked+ttl-time.Millisecond, "not before the lease ended")
	assert.Less(t, granted[0], answered+ttl+200*time.Millisecond+4*late.late())
}

// Attacks promise P7: an operator makes a lock that never ends, and later deletes it. A waiter sleeps on no lease then;
// its next fallback look finds the lock free, and the one behind it is woken in the ordinary way.
func TestFault_P4_ADeletionIsFoundByTheNextLook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.rival.Lock(someone(), rlock.Lease(time.Hour)))
	require.NoError(t, r.raw.Persist(t.Context(), r.key).Err())
	got := outcome(func() error {
		return crowd(2, 2, func(int) error { return r.lock.Do(someone(), func(context.Context) error { return nil }) })
	})
	r.asleep(1)
	looked := r.proxy.Answered(acquireScript)
	require.NoError(t, r.proxy.WaitAnswered(shortly(t, soonEnough), acquireScript, looked+1), "no lease ends, and it looks")
	require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
	looked = r.proxy.Answered(acquireScript)
	require.NoError(t, inTime(t, soonEnough, got, "the waiters"))
	const few = 4 // one that was under way, one that finds it free, two of the other waiter
	assert.LessOrEqual(t, r.proxy.Answered(acquireScript)-looked, few)
}

// Attacks promises P7 and P11: the driver reads messages in another way in each protocol, and its releases have lost
// them there, or with channels of short names. Every way of being woken works in both, whatever the length of the name.
func TestFault_P10_EveryWakeUpWorksInBothProtocolsWithShortAndLongNames(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		for _, name := range []string{"x", strings.Repeat("long/name:", 25)} {
			t.Run("RESP"+strconv.Itoa(protocol)+" "+strconv.Itoa(len(name)), func(t *testing.T) {
				t.Parallel()
				r := newRigOn(t, redistest.Start(t))
				r.key, r.rival = name, r.newClient(r.srv.Addr()).NewLock(name)
				r.client = r.clientWith(&redis.Options{Addr: r.proxy.Addr(), Protocol: protocol},
					rlock.WithFallbackLook(time.Minute), rlock.WithHub(pubsub.Config{Linger: 50 * time.Millisecond}))
				r.lock = r.client.NewLock(name)
				if list := r.suiteOfWakeUps(); strings.Contains(list, " resp=") { // Redis 6 does not tell
					assert.Contains(t, list, " resp="+strconv.Itoa(protocol))
				}
				r.idle(10 * time.Second)
			})
		}
	}
}

// suiteOfWakeUps wakes the waiter in every way there is, and returns how the server describes its subscriber.
func (r *rig) suiteOfWakeUps() (list string) {
	r.t.Helper()
	unlock := func(holder context.Context) { require.NoError(r.t, r.rival.Unlock(holder)) }
	subscribe, asked := faultproxy.Command("subscribe"), 0
	for name, way := range map[string]struct{ before, wake func(holder context.Context) }{
		"by a message": {wake: func(holder context.Context) { r.asleep(1); unlock(holder) }},
		"by a message after one that was of no use": {wake: func(holder context.Context) {
			r.asleep(1)
			require.NoError(r.t, r.raw.Publish(r.t.Context(), rlock.ChannelOf(r.key), "0").Err())
			passed(20 * time.Millisecond)
			unlock(holder)
		}},
		"by the confirmation": {
			before: func(context.Context) {
				asked = r.proxy.Received(subscribe)
				r.proxy.HoldRequest(100*time.Millisecond, 1, subscribe)
			},
			wake: func(holder context.Context) {
				require.NoError(r.t, r.proxy.WaitReceived(shortly(r.t, soonEnough), subscribe, asked+1))
				unlock(holder)
			},
		},
		"by the next connection": {wake: func(context.Context) {
			r.asleep(1)
			list = r.raw.Do(r.t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Val().(string)
			killAndFree(r.t, r.raw, []string{r.key})
		}},
		"by who had it before, in the same process": {
			before: func(holder context.Context) { unlock(holder); require.NoError(r.t, r.lock.Lock(holder)) },
			wake:   func(holder context.Context) { r.asleep(1); require.NoError(r.t, r.lock.Unlock(holder)) },
		},
	} {
		holder, waiter := someone(), someone()
		require.NoError(r.t, r.rival.Lock(holder))
		if way.before != nil {
			way.before(holder)
		}
		got := outcome(func() error { return r.lock.Lock(waiter) })
		way.wake(holder)
		require.NoError(r.t, inTime(r.t, soonEnough, got, name))
		require.NoError(r.t, r.lock.Unlock(waiter))
		_ = r.rival.Unlock(holder) // lost, where the server freed it
		r.eventually(func() bool { return r.client.Leftovers().Channels == 0 }, "the next one subscribes anew")
	}
	return list
}
