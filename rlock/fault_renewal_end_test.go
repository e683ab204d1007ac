package rlock_test

// The faults of a renewal that goes on although the hold does not, or that serves the wrong one: W3 to W5, W7 and W8.

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks promises P3 and P6: the network fails under an Unlock, so that it is an error. The request is lost, or its answer is,
// or it arrives late. Whichever it was, nothing is renewed from then on; an owner in the same process gets the lock at once,
// although the key may stand, and everybody else within a lease.
func TestFault_W3_AnUnlockThatFailedIsTheEndOfTheRenewal(t *testing.T) {
	t.Parallel()
	const lease = 900 * time.Millisecond
	for name, fail := range map[string]func(p *faultproxy.Proxy) (heal func()){
		"request lost": func(p *faultproxy.Proxy) func() { p.BlackHole(true); return func() { p.Cut(); p.Heal() } },
		"answer lost":  func(p *faultproxy.Proxy) func() { p.DropReply(1, releaseScript); return p.Heal },
		"request late": func(p *faultproxy.Proxy) func() { p.BlackHole(true); return p.Heal },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rlock.WithWatchdogTimeout(lease), rlock.WithRetryBudget(0))
			r.warm()
			ctx := someone()
			require.NoError(t, r.lock.Lock(ctx))
			field, _ := r.field()
			require.NoError(t, r.proxy.WaitAnswered(t.Context(), renewalOf(field), 2))
			heal := fail(r.proxy)
			err := r.lock.Unlock(ctx)
			require.Error(t, err)
			require.NotErrorIs(t, err, rlock.ErrNotHeld)
			sent := r.proxy.Received(renewalOf(field))
			heal()
			sibling := someone()
			require.NoError(t, r.lock.Lock(sibling, rlock.Wait(lease/2)), "it does not wait for what its own process left")
			require.NoError(t, r.lock.Unlock(sibling))
			r.free(2*lease, "nobody keeps it alive")
			passed(lease)
			assert.Equal(t, sent, r.proxy.Received(renewalOf(field)), "no renewal for what was given back")
			r.idle(10 * time.Second)
		})
	}
}

// Attacks promise P6: the Unlock that fails is that of an inner level. The outer hold is renewed all the same, for longer than
// its lease, and the count in Redis becomes what the callers were told.
func TestFault_W3_AnInnerUnlockThatFailedLeavesTheOuterHoldRenewed(t *testing.T) {
	t.Parallel()
	calmly(t, 50*time.Millisecond, newOwnRig(rlock.WithWatchdogTimeout(600*time.Millisecond), rlock.WithRetryBudget(0)),
		func(f *trial, r *rig) {
			ctx := someone()
			h, err := r.lock.Acquire(ctx)
			require.NoError(f, err)
			require.NoError(f, r.lock.Lock(ctx))
			field := r.onlyField(f)
			r.proxy.RefuseRequest("-LOADING Redis is loading", 1, releaseScript)
			require.ErrorContains(f, r.lock.Unlock(ctx), "LOADING")
			r.eventually(func() bool { return r.fields()[field] == "1" }, "counted down behind the caller's back")
			renewed := r.proxy.Answered(renewalOf(field))
			require.NoError(f, r.proxy.WaitAnswered(t.Context(), renewalOf(field), renewed+4))
			require.True(f, h.Held())
			require.NoError(f, h.Release(ctx))
			r.idle(10 * time.Second)
		})
}

// Attacks promise P6: in and out of a lock with a watchdog that renews every few milliseconds, while renewals are slow, late or
// come twice. So a renewal is under way at many an unlock, and lands after it, or in the owner's next hold. Never is a field there
// after its unlock, and when all is over nobody renews anything.
func TestFault_W4_NoRenewalOutlivesItsUnlock(t *testing.T) {
	t.Parallel()
	const watchdog, workers, rounds = 45 * time.Millisecond, 6, 60
	r := newRig(t)
	r.knowRenewal()
	c := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: 2 * time.Second}, rlock.WithWatchdogTimeout(watchdog),
		(&logbook{}).option())
	jitter := mishaps(2*time.Millisecond,
		func() { r.proxy.Heal(); r.proxy.DelayReplies(rand.N(10*time.Millisecond), renewScript) },
		func() { r.proxy.HoldRequest(rand.N(20*time.Millisecond), 2, renewScript) },
		func() { r.proxy.RepeatRequest(rand.N(20*time.Millisecond), 2, renewScript) })
	var kept atomic.Int64
	require.NoError(t, crowd(workers, workers, func(i int) error {
		ctx, name, end := someone(), r.key+strconv.Itoa(i), instant()+3*time.Second
		for n := 0; n < rounds && instant() < end; n++ {
			l := c.NewLock(name)
			if l.Lock(ctx) != nil { // this machine may be slower than the lease
				continue
			}
			fields := r.raw.HKeys(t.Context(), name).Val()
			time.Sleep(rand.N(watchdog / 2))
			if l.Unlock(ctx) != nil { // lost, for the same reason: what is left is given back behind its back
				continue
			}
			kept.Add(1)
			assert.NotSubset(t, r.raw.HKeys(t.Context(), name).Val(), fields, "after its unlock")
		}
		return nil
	}))
	jitter()
	t.Logf("%d of %d holds kept, %d renewals", kept.Load(), workers*rounds, r.proxy.Received(renewScript))
	assert.Positive(t, kept.Load())
	assert.Zero(t, c.Leftovers().Watched)
	r.eventually(func() bool { return c.Leftovers() == rlock.Leftovers{} }, "forgotten")
	seen := r.proxy.Received(renewScript)
	assert.Positive(t, seen)
	passed(2 * watchdog) // longer than any of them was held up
	r.eventually(func() bool { return r.proxy.Seen(renewScript) == r.proxy.Answered(renewScript) }, "all have arrived")
	assert.Empty(t, r.raw.Keys(t.Context(), r.key+"*").Val())
	assert.Equal(t, seen, r.proxy.Received(renewScript))
}

// Attacks promise P2: a renewal is held up until its hold was given back and the same owner has the lock again, through the same
// handle. It neither prolongs the second hold, nor is its answer taken for the second one's loss.
func TestFault_W4_ALateRenewalIsNoConcernOfTheOwnersNextHold(t *testing.T) {
	t.Parallel()
	const watchdog = 2 * time.Second
	r := newRig(t, rlock.WithWatchdogTimeout(watchdog))
	r.knowRenewal()
	ctx := someone()
	r.proxy.HoldRequest(1200*time.Millisecond, 1, renewScript)
	require.NoError(t, r.lock.Lock(ctx))
	first, _ := r.field()
	require.NoError(t, r.proxy.WaitReceived(t.Context(), renewalOf(first), 1))
	require.NoError(t, r.lock.Unlock(ctx))
	const short = 1800 * time.Millisecond
	h, err := r.lock.Acquire(ctx, rlock.Lease(short))
	require.NoError(t, err)
	taken := time.Now()
	require.NoError(t, r.proxy.WaitAnswered(t.Context(), renewalOf(first), 1))
	ttl := r.ttl()
	assert.LessOrEqual(t, ttl, short-time.Since(taken)+50*time.Millisecond, "not prolonged")
	assert.NoError(t, h.Context().Err(), "not lost")
	assert.Equal(t, 1, levelsIn(t, r.raw, r.key))
	require.NoError(t, h.Release(ctx))
}

// Attacks promise P4: the key is gone or somebody else's, and the server says so. One renewal finds out: the hold is lost at
// once, and no command goes out for it any more, by nobody, its unlock included.
func TestFault_W5_AHoldThatTheServerDeniesIsOverAtOnce(t *testing.T) {
	t.Parallel()
	const watchdog = 600 * time.Millisecond
	for name, opts := range map[string][]rlock.AcquireOption{"renewed": nil, "looked after": {rlock.Lease(time.Hour)}} {
		for _, rival := range []bool{false, true} {
			t.Run(name+", rival "+strconv.FormatBool(rival), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, rlock.WithWatchdogTimeout(watchdog))
				r.knowRenewal()
				ctx := someone()
				require.NoError(t, r.lock.Lock(ctx, opts...))
				view, ok := r.lock.Held(ctx)
				require.True(t, ok)
				field, _ := r.field()
				ofHold := faultproxy.Word(field)
				require.NoError(t, r.proxy.WaitAnswered(t.Context(), renewalOf(field), 1))
				require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
				if rival {
					require.NoError(t, r.rival.Lock(ctx))
				}
				before := r.proxy.Seen(ofHold)
				requireEnd(t, view.Context())
				require.ErrorContains(t, context.Cause(view.Context()), "no longer knows")
				assert.LessOrEqual(t, r.proxy.Seen(ofHold), before+2, "one, or two if its answer was slow")
				r.eventually(func() bool { return r.client.Leftovers().Watched == 0 }, "forgotten by the watchdog")
				passed(watchdog / 6) // what was sent before it was told has arrived
				before = r.proxy.Received(ofHold)
				requireLoss(t, r.lock.Unlock(ctx))
				passed(2 * watchdog)
				assert.Equal(t, before, r.proxy.Received(ofHold), "no more commands for that hold")
				if rival {
					require.NoError(t, r.rival.Unlock(ctx), "untouched")
				}
				r.idle(10 * time.Second)
			})
		}
	}
}

// Attacks promise P6: many owners of one process go three levels deep into few locks and out again, by all verbs and with all
// kinds of leases. The one that comes last is renewed, by one renewal under its own field; no field of the others is.
func TestFault_W7_NestedHoldsLeaveOneRenewalForTheNextOwner(t *testing.T) {
	t.Parallel()
	const lease, owners, locks = 900 * time.Millisecond, 50, 5
	calmly(t, lease/12, newOwnRig(rlock.WithWatchdogTimeout(lease)), func(f *trial, r *rig) {
		require.NoError(f, crowd(owners, 2*owners, func(i int) error {
			return threeLevels(r.client.NewLock(r.key+strconv.Itoa(i%locks)), i)
		}))
		r.idle(10 * time.Second)
		m := watch(t, r.srv)
		hs := make([]*rlock.Hold, locks)
		require.NoError(f, crowd(locks, locks, func(i int) (err error) {
			hs[i], err = r.client.NewLock(r.key + strconv.Itoa(i)).Acquire(someone())
			return err
		}))
		m.commands()
		passed(2 * lease)
		sent := m.count()
		assert.LessOrEqual(f, sent["evalsha"]+sent["eval"], locks*7, "one renewal of each, in each third of the lease")
		assert.GreaterOrEqual(f, sent["evalsha"]+sent["eval"], locks*4)
		assert.Equal(f, locks, r.client.Leftovers().Watched)
		for _, h := range hs {
			assert.True(f, h.Held())
			assert.NoError(f, h.Release(t.Context()))
		}
		r.idle(10 * time.Second)
	})
}

// Attacks promise P6: twenty levels deep, and out again one by one. At every depth there is one renewal, no faster than for one
// level, and it stays until the outermost unlock. After that no goroutine is left. Not parallel, because it counts goroutines.
func TestFault_W8_TheRenewalStaysUntilTheOutermostUnlock(t *testing.T) {
	const lease, depth = 600 * time.Millisecond, 20
	calmly(t, lease/12, newOwnRig(rlock.WithWatchdogTimeout(lease)), func(f *trial, r *rig) {
		ctx := someone()
		outer, err := r.lock.Acquire(ctx)
		require.NoError(f, err)
		renewed := renewalOf(r.onlyField(f))
		for range depth {
			require.NoError(f, r.lock.Lock(ctx))
		}
		seen := r.proxy.Answered(renewed)
		passed(lease)
		assert.LessOrEqual(f, r.proxy.Answered(renewed), seen+4, "one renewal in each third of a lease")
		for level := range depth {
			require.NoError(f, r.lock.Unlock(ctx))
			require.Equal(f, 1, r.client.Leftovers().Watched, "after %d unlocks", level+1)
			passed(lease / 20)
		}
		seen = r.proxy.Answered(renewed)
		require.NoError(f, r.proxy.WaitAnswered(shortly(t, 10*time.Second), renewed, seen+4))
		assert.True(f, outer.Held(), "five leases and more")
		require.NoError(f, outer.Release(ctx))
		assert.Zero(f, r.client.Leftovers().Watched)
		seen = r.proxy.Received(renewed)
		r.eventually(func() bool { return ofTheLibrary(true) == "" }, "a goroutine remains")
		passed(lease)
		assert.Equal(f, seen, r.proxy.Received(renewed))
	})
}

// threeLevels goes in and out in one of several ways.
func threeLevels(l *rlock.Lock, way int) error {
	ctx := someone()
	h, err := l.Acquire(ctx, kindsOfHold[way%len(kindsOfHold)]...)
	if err != nil {
		return err
	}
	if err := l.Lock(ctx, kindsOfHold[way/3%len(kindsOfHold)]...); err != nil {
		return err
	}
	if err := l.Do(ctx, func(context.Context) error { return nil }, kindsOfHold[way/9%len(kindsOfHold)]...); err != nil {
		return err
	}
	if way%2 == 0 { // out of order
		if err := h.Release(ctx); err != nil {
			return err
		}
		return l.Unlock(ctx)
	}
	if err := l.Unlock(ctx); err != nil {
		return err
	}
	return h.Release(ctx)
}

var kindsOfHold = [][]rlock.AcquireOption{{}, {rlock.Lease(time.Minute)}, {rlock.MaxHold(time.Minute)}}
