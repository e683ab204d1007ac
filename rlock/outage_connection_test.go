package rlock_test

import (
	"context"
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

// P2, P3, P5, P8: the server has no connection to spare. Those that it had are closed, new ones are refused. The error is the
// connection's: the driver writes first, and hardly ever comes to read why the server has hung up.
func TestOutage_TooManyClients_VerbsGoOnOrSaySo(t *testing.T) {
	(&outage{
		begin: func(r *outageRig) {
			r.do("CONFIG", "SET", "maxclients", 1)
			r.do("CLIENT", "KILL", "SKIPME", "yes")
		},
		end: func(r *outageRig) { r.do("CONFIG", "SET", "maxclients", 10_000) },
	}).attack(t)
}

// P3: the network swallows everything while the waiters sleep, and nobody has noticed when their time is over: the subscriber
// asks for a sign of life only now and then. That the lock is taken is then more than they know, the first in line and those
// behind it.
func TestOutage_WaitEndsInABlackHole_NeverSaysTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithFallbackLook(5*time.Second), rlock.WithHub(pubsub.Config{}))
	r.warm()
	holder := someone()
	require.NoError(t, r.rival.Lock(holder))
	const waiters = 3
	answers := make(chan error, waiters)
	for range waiters {
		go func() { answers <- orTaken(r.lock.TryLock(someone(), rlock.Wait(1200*time.Millisecond))) }()
	}
	r.asleep(1)
	r.proxy.BlackHole(true)
	for range waiters {
		err := inTime(t, 10*time.Second, answers, "the end of a wait")
		require.Error(t, err)
		assert.NotErrorIs(t, err, errTaken)
		assert.NotErrorIs(t, err, rlock.ErrNotAcquired)
	}
	r.proxy.Heal()
	require.NoError(t, r.rival.Unlock(holder))
	r.free(10*time.Second, "nothing is left behind")
}

// P2, P5, P6, P7: an operator closes all connections, again and again, under owners of two Clients who hold, nest, wait and give
// back. None of them gets an error or loses a hold, and none of their steps is lost.
func TestOutage_ConnectionsKilled_CostTimeAndNothingElse(t *testing.T) {
	t.Parallel()
	const workers, steps = 4, 40
	r := newOutageRig(t, nil, rlock.WithWatchdogTimeout(3*time.Second))
	other := r.directClient().NewLock(r.key)
	kept, err := r.client.NewLock(r.key + ":kept").Acquire(someone())
	require.NoError(t, err)
	end := mishaps(20*time.Millisecond,
		func() { _ = r.operator.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err() },
		func() { _ = r.operator.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err() },
	)
	counted := 0
	err = crowd(workers, steps, func(i int) error {
		l, owner := []*rlock.Lock{r.lock, other}[i%2], someone()
		return l.Do(owner, func(ctx context.Context) error {
			before := counted
			if err := l.Lock(ctx); err != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond)
			counted = before + 1
			return l.Unlock(ctx)
		})
	})
	end()
	require.NoError(t, err)
	assert.Equal(t, steps, counted)
	require.NoError(t, kept.Context().Err(), "a false alarm")
	assert.Equal(t, 1, levelsIn(t, r.raw, r.key+":kept"))
	require.NoError(t, kept.Release(t.Context()))
	r.settled()
	r.free(10*time.Second, "in the end")
}

// P7: the subscriber's connection is closed just when the lock is given back, so the message is lost. The new one is up soon, and
// with it the waiter looks; the look that does without messages is a minute away.
func TestOutage_SubscriberKilled_TheWaiterIsWoken(t *testing.T) {
	t.Parallel()
	for range 3 {
		r := newOutageRig(t, nil, rlock.WithFallbackLook(time.Minute))
		holder := someone()
		require.NoError(t, r.rival.Lock(holder))
		waiter := outcome(func() error { return r.lock.Lock(someone()) })
		r.asleep(1)
		passed(200 * time.Millisecond) // who has not heard of the confirmation looks within that time
		_, err := r.raw.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
			pipe.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub")
			pipe.Del(t.Context(), r.key)
			pipe.Publish(t.Context(), rlock.ChannelOf(r.key), "0")
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, inTime(t, 10*time.Second, waiter, "woken"))
	}
}

// P7: there is no connection to spare for the subscriber, only for commands. The waiter looks by itself, and is told again as
// soon as there is one.
func TestOutage_NoConnectionForTheSubscriber_TheWaiterLooks(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, nil, rlock.WithFallbackLook(time.Minute))
	small := r.clientOf(func(o *redis.Options) { o.PoolSize = 1 }, rlock.WithFallbackLook(time.Minute))
	l := small.NewLock(r.key)
	require.NoError(t, l.Do(someone(), func(context.Context) error { return nil })) // and has its connection
	r.do("CONFIG", "SET", "maxclients", 1)
	for _, spare := range []bool{false, true} {
		r.do("HSET", r.key, "somebody:1", 1)
		waiter := outcome(func() error { return l.Do(someone(), func(context.Context) error { return nil }) })
		r.eventually(func() bool { return small.Leftovers().Queues == 1 }, "waiting")
		if spare {
			r.do("CONFIG", "SET", "maxclients", 10_000)
			r.asleep(1)
		}
		r.do("DEL", r.key)
		if spare {
			r.do("PUBLISH", rlock.ChannelOf(r.key), "0")
		}
		require.NoError(t, inTime(t, 10*time.Second, waiter, "it gets in"))
	}
}

// P7: SUBSCRIBE meets a server that is busy with somebody's script. That passes, and is no lack of a right: the waiter sleeps as
// soon as it can, and does not go on looking all the time.
func TestOutage_SubscribeMeetsABusyServer_TheWaiterSleepsAgain(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, []redistest.Option{redistest.Config("lua-time-limit", "50")})
	client := r.clientOf(func(o *redis.Options) { o.Addr = r.proxy.Addr() },
		rlock.WithFallbackLook(time.Minute), rlock.WithHub(pubsub.Config{}), rlock.WithRetryBudget(time.Minute))
	r.foreign(r.key)
	waiter := outcome(func() error { return client.NewLock(r.key).Lock(someone()) })
	r.asleep(1)
	r.keepBusy()
	subscribe := faultproxy.Command("subscribe")
	answered := r.proxy.Answered(subscribe)
	r.proxy.Cut()
	r.eventually(func() bool { return r.proxy.Answered(subscribe) > answered+1 }, "refused, on a connection of the hub's too")
	r.do("SCRIPT", "KILL")
	began := instant()
	r.asleep(1)
	assert.Less(t, instant()-began, 5*time.Second, "a server that lacks the right is asked again after ten")
	before := r.attempts()[r.key]
	passed(600 * time.Millisecond)
	assert.LessOrEqual(t, r.attempts()[r.key], before+1, "it sleeps")
	require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
	require.NoError(t, r.raw.Publish(t.Context(), rlock.ChannelOf(r.key), "0").Err())
	require.NoError(t, inTime(t, 10*time.Second, waiter, "woken"))
}
