package rlock_test

// The faults of a context that is over when something is given back, X2 and X3; that nobody looks at, X4; or that is
// taken for the life of the hold, X9. And of a wait that is taken for a lease, X10.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks P8, giving back is not cancellable: the context of the request is over, in one of several ways, when the lock
// is given back, also if the redis client heeds the deadlines of contexts. The release is slow, and yet the key is gone at
// the return, and a waiter gets in.
func TestFault_X2_GivingBackHeedsNoContext(t *testing.T) {
	t.Parallel()
	for name, expiring := range map[string]func(ctx context.Context) (request context.Context, end func()){
		"cancelled": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(errors.New("the client hung up")) }
		},
		"timed out": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			return ctx, func() { <-ctx.Done(); cancel() }
		},
	} {
		for _, heeds := range []bool{false, true} {
			t.Run(fmt.Sprint(name, heeds), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.warm()
				r.proxy.HoldRequest(50*time.Millisecond, faultproxy.Every, releaseScript)
				l := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ContextTimeoutEnabled: heeds}).NewLock(r.key)
				owner, waiter := someone(), someone()
				request, end := expiring(owner)
				require.NoError(t, l.Lock(request))
				h, err := l.Acquire(request)
				require.NoError(t, err)
				got := outcome(func() error { return r.rival.Lock(waiter) })
				r.asleep(1)
				end()
				require.NoError(t, h.Release(request))
				require.Equal(t, 1, levelsIn(t, r.raw, r.key))
				require.NoError(t, l.Unlock(h.Context()))
				require.Empty(t, r.mine(r.client))
				require.NoError(t, inTime(t, 10*time.Second, got, "the waiter, far sooner than after the lease of 30s"))
				require.NoError(t, r.rival.Unlock(waiter))
				request, end = expiring(owner)
				require.NoError(t, l.Do(request, func(context.Context) error { end(); return nil }))
				require.Empty(t, r.fields())
			})
		}
	}
}

// Attacks P3: the context ends while the acquire is under way, and with it goes the caller's time. What was granted is
// given back under a context that lives, with the values of the caller's, although the redis client heeds deadlines.
func TestFault_X3_WhatAFailedAcquireLeftIsGivenBackUnderALivingContext(t *testing.T) {
	t.Parallel()
	type traceKey struct{}
	r := newRig(t)
	r.warm()
	rdb := redis.NewClient(&redis.Options{Addr: r.proxy.Addr(), ContextTimeoutEnabled: true, ReadTimeout: answerTime})
	t.Cleanup(func() { _ = rdb.Close() })
	var releases, dead, untraced atomic.Int64
	rdb.AddHook(contextEars{func(ctx context.Context, cmd redis.Cmder) {
		if !slices.Contains(cmd.Args(), any(rlock.ChannelOf(r.key))) {
			return
		}
		releases.Add(1)
		if deadline, has := ctx.Deadline(); ctx.Err() != nil || has && time.Until(deadline) < time.Minute {
			dead.Add(1)
		}
		if ctx.Value(traceKey{}) != "request 7" {
			untraced.Add(1)
		}
	}})
	l := newClient(t, rdb).NewLock(r.key)
	for _, losing := range []func(n int, m faultproxy.Match){r.proxy.DropReply, r.proxy.CutAfterWrite} {
		losing(1, acquireScript)
		r.proxy.HoldRequest(100*time.Millisecond, 1, acquireScript)
		ctx, cancel := context.WithTimeout(context.WithValue(someone(), traceKey{}, "request 7"), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, l.Lock(ctx, rlock.Lease(time.Hour)), context.DeadlineExceeded)
		r.eventually(func() bool { return releases.Load() > 0 }, "given back")
		r.free(10*time.Second, "far sooner than in an hour")
	}
	assert.Zero(t, dead.Load(), "a give-back whose context is over")
	assert.Zero(t, untraced.Load(), "a give-back that forgot whose it is")
}

// Attacks P3 and P10, everything ends: wherever an acquire sleeps or waits, for much longer than the test has time, the
// end of its context ends it.
func TestFault_X4_EverySleepEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for place, prepare := range placesOfRest {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			late := watchStalls(t)
			r, owner := newRig(t), someone()
			r.client = r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: time.Minute},
				rlock.WithFallbackLook(time.Minute))
			r.lock = r.client.NewLock(r.key)
			t.Cleanup(r.proxy.Cut)
			r.warm()
			reached := prepare(r, owner)
			ctx, cancel := context.WithCancel(owner)
			defer cancel()
			done := outcome(func() error { return r.lock.Lock(ctx) })
			r.eventually(reached, "it is there")
			passed(20 * time.Millisecond)
			require.Empty(t, done)
			cancelled := instant()
			cancel()
			require.ErrorIs(t, inTime(t, 30*time.Second, done, "it sleeps on"), context.Canceled)
			assert.Less(t, instant()-cancelled, 250*time.Millisecond+2*late.late())
		})
	}
}

// placesOfRest bring an acquire of that owner to a place where it stays, and tell when it is there.
var placesOfRest = map[string]func(r *rig, owner context.Context) (reached func() bool){
	"until the holder's lease ends": func(r *rig, _ context.Context) func() bool {
		r.occupy()
		return r.listens
	},
	"in line behind another": func(r *rig, _ context.Context) func() bool {
		r.occupy()
		r.inBackground(func(ctx context.Context) error { return r.lock.Lock(ctx) })
		return func() bool { return r.client.Leftovers().Seats == 2 }
	},
	"before an answer": func(r *rig, _ context.Context) func() bool {
		r.proxy.BlackHole(true)
		return r.asked(acquireScript, 1)
	},
	"between two attempts": func(r *rig, _ context.Context) func() bool {
		r.refuse("-LOADING x", acquireScript)
		return r.asked(acquireScript, 7) // by then it pauses for half a second at least
	},
	"before the server has subscribed it": func(r *rig, _ context.Context) func() bool {
		r.occupy()
		r.proxy.HoldRequest(time.Hour, faultproxy.Every, faultproxy.Command("subscribe"))
		return func() bool { return r.proxy.Received(faultproxy.Command("subscribe")) > 0 }
	},
	"behind another call of its owner": func(r *rig, owner context.Context) func() bool {
		require.NoError(r.t, r.lock.Lock(owner))
		r.proxy.BlackHole(true)
		r.inBackground(func(context.Context) error { return r.lock.Unlock(owner) })
		r.eventually(r.asked(releaseScript, 1), "the other call")
		return func() bool { return true } // it can be nowhere else
	},
	"for a connection to be spared": func(r *rig, _ context.Context) func() bool {
		rdb := redis.NewClient(&redis.Options{Addr: r.srv.Addr(), PoolSize: 1, PoolTimeout: time.Hour, ReadTimeout: time.Minute})
		r.restOn(rdb, func() { r.raw.LPush(context.Background(), r.key+":busy", 1) })
		outcome(func() error { return rdb.BLPop(context.Background(), time.Minute, r.key+":busy").Err() })
		r.eventually(func() bool { s := rdb.PoolStats(); return s.TotalConns == 1 && s.IdleConns == 0 }, "the pool is empty")
		return func() bool { return r.client.Leftovers().Seats == 1 }
	},
	"for a connection to be made": func(r *rig, _ context.Context) func() bool {
		var dials atomic.Int64
		end := make(chan struct{})
		r.restOn(redis.NewClient(&redis.Options{
			ReadTimeout: time.Minute,
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				<-end // whatever its context says
				return nil, net.ErrClosed
			},
		}), func() { close(end) })
		return func() bool { return dials.Load() > 0 }
	},
}

// Attacks P6, renewal lives as long as the hold: the context of the acquire is over soon after it, and the work goes on
// for more than two leases. The hold is renewed, and no rival gets in.
func TestFault_X9_TheHoldOutlivesTheContextOfItsAcquire(t *testing.T) {
	t.Parallel()
	const lease = 1200 * time.Millisecond
	for name, opts := range map[string][]rlock.AcquireOption{"watched": nil, "max hold": {rlock.MaxHold(time.Hour)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rlock.WithWatchdogTimeout(lease))
			owner := someone()
			ctx, cancel := context.WithCancel(owner)
			defer cancel()
			require.NoError(t, r.lock.Lock(ctx, opts...))
			h, err := r.lock.Acquire(ctx, opts...)
			require.NoError(t, err)
			cancel()
			for end := instant() + 2*lease + lease/5; instant() < end; time.Sleep(20 * time.Millisecond) {
				require.True(t, h.Held())
				r.taken("the work is not done")
			}
			require.ErrorIs(t, h.Context().Err(), context.Canceled, "what hangs on the request ends with it")
			require.NoError(t, h.Release(ctx))
			require.NoError(t, r.lock.Unlock(owner))
			assert.Empty(t, r.fields())
		})
	}
}

// Attacks P7, the waiter gets its turn: how long one waits and for how long a lease lasts have nothing to do with each
// other. The holder renews a short lease for many times its length; who waits longer than that gets in, with a lease
// shorter than its wait; and a short wait ends on time although the lease of the holder is long.
func TestFault_X10_TheWaitAndTheLeaseAreIndependent(t *testing.T) {
	t.Parallel()
	const lease, work = time.Second, 2200 * time.Millisecond
	r := newRig(t)
	c := r.newClient(r.srv.Addr(), rlock.WithWatchdogTimeout(lease))
	holder, waiter := someone(), someone()
	require.NoError(t, c.NewLock(r.key).Lock(holder))
	got := outcome(func() error { return r.lock.Lock(waiter, rlock.Wait(time.Minute), rlock.Lease(lease/2)) })
	passed(work)
	require.Empty(t, got)
	require.NoError(t, c.NewLock(r.key).Unlock(holder))
	require.NoError(t, inTime(t, 5*time.Second, got, "the waiter"))
	assert.LessOrEqual(t, r.ttl(), lease/2)
	_ = r.lock.Unlock(waiter) // a busy machine may be slower than the lease
	r.idle(10 * time.Second)

	require.NoError(t, r.rival.Lock(holder, rlock.Lease(time.Hour)))
	began := instant()
	ok, err := r.lock.TryLock(waiter, rlock.Wait(400*time.Millisecond))
	require.NoError(t, err)
	require.False(t, ok)
	assert.GreaterOrEqual(t, instant()-began, 400*time.Millisecond)
	assert.Less(t, instant()-began, 5*time.Second)
}

// restOn lets the rig's lock use another redis client, which can do nothing before the end of the test.
func (r *rig) restOn(rdb *redis.Client, end func()) {
	r.t.Cleanup(func() { _ = rdb.Close() })
	r.client = newClient(r.t, rdb)
	r.lock = r.client.NewLock(r.key)
	r.t.Cleanup(end)
}

// asked reports whether so many such commands for the lock have come as far as the proxy.
func (r *rig) asked(m faultproxy.Match, n int) func() bool {
	return func() bool { return r.proxy.Received(faultproxy.And(m, faultproxy.Word(r.key))) >= n }
}

// listens reports whether a waiter hears the lock's channel.
func (r *rig) listens() bool {
	channel := rlock.ChannelOf(r.key)
	return r.raw.PubSubNumSub(context.Background(), channel).Val()[channel] > 0
}

// inBackground runs op until the test ends.
func (r *rig) inBackground(op func(context.Context) error) {
	ctx, cancel := context.WithCancel(someone())
	done := outcome(func() error { return op(ctx) })
	r.t.Cleanup(func() { cancel(); r.proxy.Heal(); r.t.Log("ended:", <-done) })
}

// contextEars are ears that also hear under which context a command is sent.
type contextEars struct {
	hear func(context.Context, redis.Cmder)
}

func (e contextEars) DialHook(next redis.DialHook) redis.DialHook { return next }

func (e contextEars) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		e.hear(ctx, cmd)
		return next(ctx, cmd)
	}
}

func (e contextEars) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
