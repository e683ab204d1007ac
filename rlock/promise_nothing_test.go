package rlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/pubsub"
	"github.com/rlock-go/rlock/rlock"
)

// Acquires of a free lock are cancelled at any moment of their way. Each is held or leaves nothing: no key, no entry, no
// renewal, no goroutine. Not parallel, because it counts goroutines.
func TestP3_CancelledInFlightLeavesNothing(t *testing.T) {
	r := newRig(t)
	r.warm()
	r.proxy.DelayReplies(time.Millisecond)
	held := 0
	for range 500 {
		ctx, cancel := context.WithTimeout(someone(), rand.N(5*time.Millisecond))
		err := r.lock.Lock(ctx)
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			continue
		}
		held++
		require.Len(t, r.mine(r.client), 1, "nil means held")
		require.NoError(t, r.lock.Unlock(ctx))
	}
	t.Logf("%d of 500 held", held)
	r.gone(10*time.Second, "far sooner than the lease of 30s")
	r.idle(10 * time.Second)
	assert.Zero(t, r.proxy.Seen(renewScript))
	r.eventually(func() bool { return ofTheLibrary(true) == "" }, "a goroutine remains")
}

// Waiters of a busy lock are cancelled at any moment: queued, subscribing, looking, asleep, woken.
func TestP3_CancelledWaitersLeaveNothing(t *testing.T) {
	r := newRig(t)
	r.warm()
	r.proxy.DelayReplies(time.Millisecond)
	cycle := mishaps(4*time.Millisecond, func() {
		ctx := someone()
		assert.NoError(t, r.rival.Lock(ctx))
		time.Sleep(rand.N(10 * time.Millisecond))
		assert.NoError(t, r.rival.Unlock(ctx))
	})
	require.NoError(t, crowd(8, 400, func(int) error {
		ctx, cancel := context.WithTimeout(someone(), rand.N(30*time.Millisecond))
		defer cancel()
		if r.lock.Lock(ctx) != nil {
			return nil
		}
		return r.lock.Unlock(ctx)
	}))
	cycle()
	r.gone(10*time.Second, "far sooner than the lease of 30s")
	r.idle(10 * time.Second)
	r.eventually(func() bool { return len(r.raw.PubSubChannels(t.Context(), rlock.ChannelOf(r.key)).Val()) == 0 }, "unsubscribed")
	r.eventually(func() bool { return ofTheLibrary(true) == "" }, "a goroutine remains")
}

// Whatever the reason of a failure, nothing is held and nothing is left, and it comes in time.
func TestP3_EveryFailedAcquireLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct {
		prepare func(r *rig)
		opts    []rlock.AcquireOption
		within  time.Duration // beyond what a busy machine needs
		is      error         // what the error matches; nil: none of "taken" and "not held"
	}{
		"taken":      {func(r *rig) { r.occupy() }, nil, 0, rlock.ErrNotAcquired},
		"wait":       {func(r *rig) { r.occupy() }, []rlock.AcquireOption{rlock.Wait(150 * time.Millisecond)}, 150 * time.Millisecond, rlock.ErrNotAcquired},
		"forbidden":  {func(r *rig) { r.proxy.RefuseRequest("-NOPERM no", faultproxy.Every, acquireScript) }, nil, 0, nil},
		"wrong type": {func(r *rig) { r.raw.Set(context.Background(), r.key, "a string", time.Second) }, nil, 0, nil},
		"loading": {
			func(r *rig) { r.proxy.RefuseRequest("-LOADING x", faultproxy.Every, acquireScript) },
			[]rlock.AcquireOption{rlock.Wait(100 * time.Millisecond)},
			100 * time.Millisecond, nil,
		},
		"no answer": {
			func(r *rig) { r.proxy.DropReply(faultproxy.Every, acquireScript) },
			[]rlock.AcquireOption{rlock.Wait(300 * time.Millisecond)},
			300 * time.Millisecond, os.ErrDeadlineExceeded,
		},
		"black hole": {
			func(r *rig) { r.proxy.BlackHole(true) },
			[]rlock.AcquireOption{rlock.Wait(300 * time.Millisecond)},
			300 * time.Millisecond, os.ErrDeadlineExceeded,
		},
		"port closed": {
			func(r *rig) { r.proxy.Refuse(true); r.proxy.Cut() },
			[]rlock.AcquireOption{rlock.Wait(300 * time.Millisecond)},
			300 * time.Millisecond, nil,
		},
		"late": {
			func(r *rig) { r.proxy.DelayReplies(350*time.Millisecond, acquireScript) },
			[]rlock.AcquireOption{rlock.Wait(200 * time.Millisecond)},
			200 * time.Millisecond, os.ErrDeadlineExceeded,
		},
		"too late": {
			func(r *rig) { r.proxy.DelayReplies(250*time.Millisecond, acquireScript) },
			[]rlock.AcquireOption{rlock.Lease(200 * time.Millisecond), rlock.Wait(time.Second)},
			time.Second, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.warm()
			f.prepare(r)
			began := time.Now()
			h, err := r.lock.TryAcquire(someone(), f.opts...)
			assert.Less(t, time.Since(began), f.within+1500*time.Millisecond)
			require.Error(t, err)
			require.Nil(t, h)
			require.NotErrorIs(t, err, rlock.ErrNotHeld)
			if f.is != nil {
				require.ErrorIs(t, err, f.is)
			} else {
				require.NotErrorIs(t, err, rlock.ErrNotAcquired)
			}
			r.proxy.Heal()
			r.eventually(func() bool { return r.client.Leftovers() == rlock.Leftovers{} }, "no entry, no subscription")
			if !errors.Is(f.is, rlock.ErrNotAcquired) && name != "wrong type" {
				r.free(5*time.Second, "no key")
			}
			assert.Zero(t, r.proxy.Seen(renewScript))
		})
	}
}

// The command arrives long after its caller has given up, and is granted. It is given back, and never renewed.
func TestP3_AGrantThatArrivesTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	l := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: 2 * time.Second},
		rlock.WithHub(pubsub.Config{Linger: time.Millisecond})).NewLock(r.key)
	r.proxy.HoldRequest(400*time.Millisecond, 1, acquireScript)
	began := time.Now()
	ok, err := l.TryLock(someone(), rlock.Wait(50*time.Millisecond))
	require.False(t, ok)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Less(t, time.Since(began), 350*time.Millisecond)
	answered := r.proxy.Answered(acquireScript)
	r.eventually(func() bool { return r.proxy.Answered(acquireScript) > answered }, "it arrives")
	r.gone(2*time.Second, "given back")
	assert.Zero(t, r.proxy.Seen(renewScript))
}

// The caller gives up while Redis is asked, for a first level or a further one. It comes back at once, before there is any
// answer.
func TestP3_WhoGivesUpWaitsForNoAnswer(t *testing.T) {
	t.Parallel()
	for name, nested := range map[string]bool{"first level": false, "nested": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.warm()
			l := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: 5 * time.Second}).NewLock(r.key)
			owner := someone()
			if nested {
				require.NoError(t, l.Lock(owner))
			}
			ctx, giveUp := context.WithCancel(owner)
			received, answered := r.proxy.Received(acquireScript), r.proxy.Answered(acquireScript)
			r.proxy.HoldRequest(1500*time.Millisecond, 1, acquireScript)
			done := outcome(func() error { return l.Lock(ctx) })
			require.NoError(t, r.proxy.WaitReceived(t.Context(), acquireScript, received+1))
			giveUp()
			require.ErrorIs(t, <-done, context.Canceled)
			assert.Equal(t, answered, r.proxy.Answered(acquireScript), "nothing was answered yet")
			if nested {
				require.NoError(t, l.Unlock(owner))
			}
		})
	}
}

// A nested acquire with a long lease is called off while it is under way. It leaves nothing behind: the lock is free when the
// outer level's lease is over.
func TestP3_ANestedAcquireThatWasCalledOffLengthensNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	outer, err := r.lock.Acquire(someone(), rlock.Lease(time.Second))
	require.NoError(t, err)
	r.proxy.DelayReplies(200*time.Millisecond, acquireScript)
	ctx, cancel := context.WithTimeout(outer.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = r.lock.Acquire(ctx, rlock.Lease(time.Hour))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireEnd(t, outer.Context())
	r.proxy.Heal()
	r.free(soonEnough, "the only lease that anybody was granted is over")
}

// Waiters give up in their sleep, at the head of the line and behind it, long before anybody would look.
func TestP3_WhoGivesUpAsleepIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	r.occupy()
	ctx, giveUp := context.WithCancel(someone())
	head := outcome(func() error { return r.lock.Lock(ctx) })
	r.asleep(1)
	next := outcome(func() error { return r.client.NewLock(r.key).Lock(ownerid.NewContext(ctx, ownerid.New())) })
	r.eventually(func() bool { return r.client.Leftovers().Seats == 2 }, "in line")
	giveUp()
	require.ErrorIs(t, inTime(t, soonEnough, head, "the head"), context.Canceled)
	require.ErrorIs(t, inTime(t, soonEnough, next, "the one behind it"), context.Canceled)
	r.idle(10 * time.Second)
}

// occupy lets the rival hold the lock, until its own Client closes.
func (r *rig) occupy() {
	r.t.Helper()
	require.NoError(r.t, r.rival.Lock(someone()))
}
