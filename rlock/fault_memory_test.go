package rlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// P3, P7, P10: waiters of one process stand in line while what is at its head ends in every way there is: in time, by a cancelled
// context, by the server's word, with a lock that expired, was deleted or could not be given back. The next one's turn comes each
// time, and the line is gone with its last.
func TestFault_A5_TheLocalLineMovesOnHoweverItsHeadLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithRetryBudget(200*time.Millisecond))
	r.warm()
	for name, play := range map[string]func(line func() <-chan error){
		"wait over": func(line func() <-chan error) {
			holder := someone()
			require.NoError(t, r.rival.Lock(holder))
			err := r.lock.Lock(someone(), rlock.Wait(30*time.Millisecond))
			require.ErrorIs(t, err, rlock.ErrNotAcquired)
			next := line()
			require.NoError(t, r.rival.Unlock(holder))
			require.NoError(t, inTime(t, 10*time.Second, next, "the next"))
		},
		"cancelled in front": func(line func() <-chan error) {
			holder := someone()
			require.NoError(t, r.rival.Lock(holder))
			head, cancel := context.WithCancel(someone())
			first := outcome(func() error { return r.lock.Lock(head) })
			r.eventually(func() bool { return r.client.Leftovers().Queues == 1 }, "in front")
			next := line()
			cancel()
			require.ErrorIs(t, inTime(t, 10*time.Second, first, "the first"), context.Canceled)
			require.NoError(t, r.rival.Unlock(holder))
			require.NoError(t, inTime(t, 10*time.Second, next, "the next"))
		},
		"refused in front": func(line func() <-chan error) {
			r.proxy.RefuseRequest("-NOPERM not for you", 1, acquireScript)
			require.ErrorContains(t, r.lock.Lock(someone()), "NOPERM")
			require.NoError(t, inTime(t, 10*time.Second, line(), "the next"))
		},
		"expired": func(line func() <-chan error) {
			holder := someone()
			require.NoError(t, r.lock.Lock(holder, rlock.Lease(150*time.Millisecond)))
			require.NoError(t, inTime(t, 10*time.Second, line(), "the next"))
			requireLoss(t, r.lock.Unlock(holder))
		},
		"deleted": func(line func() <-chan error) {
			holder := someone()
			require.NoError(t, r.lock.Lock(holder))
			next := line()
			require.NoError(t, r.raw.Del(context.Background(), r.key).Err())
			require.NoError(t, inTime(t, 10*time.Second, next, "the next"))
			requireLoss(t, r.lock.Unlock(holder))
		},
		"unlock failed": func(line func() <-chan error) {
			holder := someone()
			require.NoError(t, r.lock.Lock(holder))
			next := line()
			r.proxy.RefuseRequest("-NOPERM not for you", 1, releaseScript)
			require.ErrorContains(t, r.lock.Unlock(holder), "NOPERM")
			require.NoError(t, inTime(t, 10*time.Second, next, "the next"))
		},
	} {
		play(func() <-chan error { // somebody who gets in, and two behind him
			all := outcome(func() error {
				return crowd(3, 3, func(int) error {
					return r.lock.Do(someone(), func(context.Context) error { return nil })
				})
			})
			return all
		})
		r.idle(10 * time.Second)
		r.gone(10*time.Second, name)
	}
}

// P3, P10: a crowd stands in line for one lock. The locks of all other names have lines of their own, whatever the names hash to.
func TestFault_A5_NamesDoNotShareALine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	holder := someone()
	require.NoError(t, r.lock.Lock(holder))
	all := waitAll(t, r.client, 6, func(ctx context.Context, i int) error {
		if i == 0 {
			return nil // the holder's seat is the sixth
		}
		return r.lock.Lock(ctx)
	})
	require.NoError(t, <-all.done)
	require.NoError(t, crowd(20, 1000, func(i int) error {
		return r.client.NewLock(fmt.Sprintf("%s:%d", r.key, i)).Do(someone(), func(context.Context) error { return nil })
	}))
	all.leave(t, 5)
	require.NoError(t, r.lock.Unlock(holder))
	r.idle(10 * time.Second)
}

// P1, P4, P6: an operator takes the expiry away. The next renewal, look or level gives the key one again, and never less than what
// the holder counts on by an earlier command, though it may be sent for less.
func TestFault_A6_APersistedHoldExpiresAgainButNotTooSoon(t *testing.T) {
	t.Parallel()
	const watchdog, long = time.Second, time.Minute
	r := newRig(t, rlock.WithWatchdogTimeout(watchdog))
	ann := someone()
	persist := func(h *rlock.Hold, mend func()) {
		t.Helper()
		require.True(t, r.raw.Persist(ann, r.key).Val())
		mend()
		r.eventually(func() bool { return r.ttl() >= 0 }, "an expiry")
		ttl := r.ttl()
		require.LessOrEqual(t, ttl, long)
		require.Greater(t, ttl+time.Millisecond, time.Until(h.ValidUntil()), "the holder believes to hold for longer")
	}
	none := func() {}
	watched, err := r.lock.Acquire(ann)
	require.NoError(t, err)
	persist(watched, none)
	require.LessOrEqual(t, r.ttl(), watchdog)
	require.NoError(t, watched.Release(ann))

	fixed, err := r.lock.Acquire(ann, rlock.Lease(long))
	require.NoError(t, err)
	persist(fixed, none)
	persist(fixed, func() { require.NoError(t, fixed.Extend(ann, watchdog)) })
	persist(fixed, func() { require.NoError(t, r.lock.Lock(ann, rlock.Lease(watchdog))) })
	require.NoError(t, r.lock.Unlock(ann))
	require.NoError(t, r.lock.Lock(ann)) // renewed by the watchdog's lease, within one that is longer
	persist(fixed, none)
	require.NoError(t, r.lock.Unlock(ann))
	require.True(t, fixed.Held())
	require.NoError(t, fixed.Release(ann))
	r.gone(time.Second, "released")
}

// P7: a lock that never expires, for its holder is dead and an operator meddled. Waiters are told so, keep looking, and get in
// when it goes, though nobody announces that.
func TestFault_A6_WaitersKeepLookingAtALockWithoutAnEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := someone()
	require.NoError(t, r.raw.HSet(ann, r.key, "8743c9c0-0795-4907-87fd-6c719a6b4586:1", 1).Err())
	state, err := r.lock.State(ann)
	require.NoError(t, err)
	require.Equal(t, rlock.NoTTL, state.TTL)
	_, err = r.lock.TryAcquire(ann)
	var refusal *rlock.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, rlock.NoTTL, refusal.TTL)

	got := outcome(func() error { return r.lock.Lock(ann) })
	r.asleep(1)
	looks := r.proxy.Seen(acquireScript)
	r.eventually(func() bool { return r.proxy.Seen(acquireScript) >= looks+2 }, "it looks")
	require.NoError(t, r.raw.Del(ann, r.key).Err())
	require.NoError(t, inTime(t, 10*time.Second, got, "the waiter"))
	require.NoError(t, r.lock.Unlock(ann))
}

// P3, P6: whatever the network does to an acquire, a level or a renewal, the key never stands without an expiry.
func TestFault_A6_NoMishapLeavesAKeyWithoutAnExpiry(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(300*time.Millisecond), rlock.WithRetryBudget(50*time.Millisecond))
	r.warm()
	over, endless := make(chan struct{}), 0
	watched := outcome(func() error {
		for !isOver(over) {
			ttl, err := r.raw.PTTL(context.Background(), r.key).Result()
			if err != nil {
				return err
			}
			if ttl == -1 {
				endless++
			}
		}
		return nil
	})
	end := mishaps(5*time.Millisecond, r.proxy.Cut,
		func() { r.proxy.CutAfterWrite(1, acquireScript) }, func() { r.proxy.CutAfterWrite(1, renewScript) },
		func() { r.proxy.HoldRequest(20*time.Millisecond, 1, faultproxy.Any) }, func() { r.proxy.DropReply(1, acquireScript) })
	for began := time.Now(); time.Since(began) < 1500*time.Millisecond; {
		ctx := shortly(t, 100*time.Millisecond)
		if r.lock.Lock(ctx) == nil {
			_ = r.lock.Lock(ctx)
			_, _ = r.lock.Unlock(ctx), r.lock.Unlock(ctx)
		}
	}
	end()
	close(over)
	require.NoError(t, <-watched)
	assert.Zero(t, endless)
	r.proxy.Heal()
	r.gone(10*time.Second, "it runs out, whoever was last")
}

// P3, P10: many names, each locked, nested in, waited for in vain, and then given back, lost to an operator, or left to a fixed
// lease. Nothing of a name stays, in the process or on the server.
func TestFault_A9_NothingOfANameStays(t *testing.T) {
	names := 1500
	if underRaceDetector() {
		names = 300
	}
	srv := redistest.Start(t)
	raw := srv.Client(t, smallBuffers)
	c := newClient(t, srv.Client(t, smallBuffers), quietly, rlock.WithWatchdogTimeout(time.Hour))
	use := func(i int) error {
		lock, ann := c.NewLock(fmt.Sprintf("%s/%d", t.Name(), i)), someone()
		h, err := lock.Acquire(ann, rlock.Lease(time.Hour))
		if err != nil {
			return err
		}
		_ = lock.Lock(ann)
		_, _ = lock.TryLock(someone(), rlock.Wait(time.Millisecond))
		hasty, cancel := context.WithTimeout(someone(), time.Millisecond)
		_ = lock.Lock(hasty)
		cancel()
		switch i % 3 {
		case 0:
			err = raw.Del(ann, lock.Name()).Err()
		case 1:
			_, err = lock.ForceUnlock(ann)
		}
		_, _ = lock.Unlock(ann), h.Release(ann)
		return err
	}
	silent := func() {
		eventually(t, func() bool { return !strings.Contains(raw.ClientList(t.Context()).Val(), "subscribe") }, "the hub hangs up")
	}
	const atOnce = 16
	require.NoError(t, crowd(atOnce, 20*atOnce, use)) // connections and pools are there after it
	eventually(t, func() bool { return c.Leftovers() == rlock.Leftovers{} }, "over")
	silent()
	before := measure()
	require.NoError(t, crowd(atOnce, names, use))
	requireNothingLeft(t, c)
	silent()
	requireNotGrown(t, before, uint64(10*names)+32<<10)
	assert.Zero(t, raw.DBSize(t.Context()).Val())
}

// P4, P6: Extend begins the lease anew. However often and quickly it is called, the leases do not add up.
func TestFault_A10_ExtensionsDoNotAddUp(t *testing.T) {
	t.Parallel()
	const lease = 700 * time.Millisecond
	r := newRig(t)
	ann := someone()
	hold, err := r.lock.Acquire(ann, rlock.Lease(lease))
	require.NoError(t, err)
	for range 30 {
		require.NoError(t, hold.Extend(ann, lease))
		require.LessOrEqual(t, r.ttl(), lease)
		require.LessOrEqual(t, time.Until(hold.ValidUntil()), lease-rlock.Margin(lease))
	}
	last := time.Now()
	requireEnd(t, hold.Context())
	require.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrLost)
	assert.Less(t, time.Since(last), 10*lease, "30 leases are 21 s")
	require.ErrorIs(t, hold.Extend(ann, lease), rlock.ErrLost, "what is over is not made anew")
	requireLoss(t, hold.Release(ann))
	r.gone(10*time.Second, "and so is the key")
}
