package rlock_test

// The faults of holders that are not told of a loss, or too late, or take the lock back without knowing: W6, W14, W15 and W19.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// Attacks promises P4 and P6: the holder's clock runs far too slow, so that its lease ends in Redis without its knowing. A rival
// comes, writes and goes, or is still inside, when the holder's next renewal reaches the server. It makes no key, prolongs
// nothing, and the holder is told by it; what the owner takes next is a new hold, and not before the lost one is given back.
func TestFault_W6_ARenewalTakesNothingBack(t *testing.T) {
	t.Parallel()
	const lease = 600 * time.Millisecond
	for _, inside := range []bool{false, true} {
		t.Run("rival inside "+strconv.FormatBool(inside), func(t *testing.T) {
			t.Parallel()
			var clock atomic.Int64
			r := newRig(t)
			r.knowRenewal()
			c := r.newClient(r.proxy.Addr(), rlock.WithWatchdogTimeout(lease),
				rlock.WithClock(func() time.Duration { return time.Duration(clock.Load()) }))
			l, ctx, rival := c.NewLock(r.key), someone(), someone()
			h, err := l.Acquire(ctx)
			require.NoError(t, err)
			field, _ := r.field()
			require.NoError(t, r.rival.Lock(rival, rlock.Wait(20*time.Second)))
			theirs := r.fields()
			if !inside {
				require.NoError(t, r.rival.Unlock(rival))
				theirs = map[string]string{}
			}
			require.True(t, h.Held(), "by its own clock")
			require.Zero(t, r.proxy.Received(renewalOf(field)))

			clock.Add(int64(lease / 3)) // the renewal is due
			requireEnd(t, h.Context())
			require.ErrorContains(t, context.Cause(h.Context()), "no longer knows")
			assert.Equal(t, 1, r.proxy.Answered(renewalOf(field)))
			assert.Equal(t, theirs, r.fields())
			require.ErrorIs(t, l.Lock(ctx), rlock.ErrLost)
			_, err = l.TryAcquire(ctx)
			require.ErrorIs(t, err, rlock.ErrLost)
			require.ErrorIs(t, h.Release(ctx), rlock.ErrLost)
			if inside {
				ok, err := l.TryLock(ctx)
				require.NoError(t, err)
				require.False(t, ok)
				require.NoError(t, r.rival.Unlock(rival), "untouched")
			}
			require.NoError(t, l.Lock(ctx))
			_, count := r.field()
			assert.Equal(t, "1", count)
			require.NoError(t, l.Unlock(ctx))
		})
	}
}

// Attacks promise P4: a black hole for two leases. Each level of the hold, and whoever watches it from outside, hears of the loss
// once, by the deadline that was last confirmed, with ErrLost for the cause; the give-backs are errors. What is called on the
// news is called under no lock of the library: it uses the hold, the lock and others as it likes.
func TestFault_W14_EveryPartOfALostHoldIsTold(t *testing.T) {
	t.Parallel()
	const lease, levels = 900 * time.Millisecond, 3
	lines := &logbook{}
	r := newRig(t, rlock.WithWatchdogTimeout(lease), rlock.WithRetryBudget(50*time.Millisecond), lines.option())
	late, ctx := watchStalls(t), someone()
	var told atomic.Int64
	heard := make(chan time.Duration, 2*levels)
	tell := func(h *rlock.Hold) {
		context.AfterFunc(h.Context(), func() {
			heard <- instant()
			told.Add(1)
			assert.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
			assert.False(t, h.Held())
			_, ok := r.lock.Held(ctx)
			assert.False(t, ok)
			assert.ErrorIs(t, h.Extend(ctx, time.Minute), rlock.ErrLost)
			_, err := r.lock.TryAcquire(ctx)
			assert.ErrorIs(t, err, rlock.ErrLost)
			_, err = r.client.NewLock(r.key + ":other").TryAcquire(shortly(t, 50*time.Millisecond))
			assert.Error(t, err, "a black hole")
		})
	}
	for range levels {
		h, err := r.lock.Acquire(ctx)
		require.NoError(t, err)
		tell(h)
		view, ok := r.lock.Held(ctx)
		require.True(t, ok)
		tell(view)
	}
	require.NoError(t, r.lock.Lock(ctx))
	view, _ := r.lock.Held(ctx)
	require.NoError(t, r.proxy.WaitAnswered(t.Context(), renewScript, 1))
	r.proxy.BlackHole(true)
	deadline := instant() + lease // at the latest: what is confirmed was sent before
	for range 2 * levels {
		select {
		case at := <-heard:
			assert.Less(t, at, deadline+2*late.late())
		case <-time.After(20 * time.Second):
			t.Fatal("not told")
		}
	}
	assert.False(t, view.Held())
	passed(lease)
	requireLoss(t, r.lock.Unlock(ctx))
	require.ErrorIs(t, r.lock.Unlock(ctx), rlock.ErrNotHeld, "the other levels are their Holds'")
	r.eventually(func() bool { return told.Load() == 2*levels }, "all are told")
	passed(50 * time.Millisecond)
	assert.Equal(t, int64(2*levels), told.Load(), "once")
	assert.Len(t, lines.read(t), 1, "and the operator too")
}

// Attacks promises P1 and P4: nothing comes back from Redis and no socket says so, for the redis client waits a minute for each
// answer. Renewed or not, every holder is told by its own clock before the rival that asks Redis directly gets in; the give-back
// does not wait for the silent sockets either.
func TestFault_W15_TheLossIsTheClocksToTellNotTheSockets(t *testing.T) {
	t.Parallel()
	const lease, locks = 2 * time.Second, 12
	calmly(t, rlock.Margin(lease)/2, newOwnRig(), func(f *trial, r *rig) {
		c := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: time.Minute, PoolSize: 50}, rlock.WithWatchdogTimeout(lease))
		rivals := r.newClient(r.srv.Addr())
		kinds := [][]rlock.AcquireOption{{}, {rlock.Lease(lease)}, {rlock.MaxHold(time.Minute)}}
		held := make([]*rlock.Hold, locks)
		require.NoError(f, crowd(locks, locks, func(i int) (err error) {
			held[i], err = c.NewLock(r.key+strconv.Itoa(i)).Acquire(someone(), kinds[i%len(kinds)]...)
			return err
		}))
		r.proxy.BlackHole(true)
		require.NoError(f, crowd(locks, locks, func(i int) error {
			told := make(chan time.Duration, 1)
			context.AfterFunc(held[i].Context(), func() { told <- instant() })
			rival := someone()
			if err := rivals.NewLock(r.key+strconv.Itoa(i)).Lock(rival, rlock.Wait(20*time.Second)); err != nil {
				return err
			}
			in, still := instant(), held[i].Held()
			assert.False(t, still, "whatever a timer does, the clock says so")
			assert.Less(f, <-told, in, "told before the rival was in")
			from := instant()
			assert.ErrorIs(f, held[i].Release(context.Background()), rlock.ErrLost)
			assert.Less(f, instant()-from, 5*time.Second)
			return rivals.NewLock(r.key + strconv.Itoa(i)).Unlock(rival)
		}))
		r.proxy.Heal()
	})
}

// Attacks promises P4 and P9: a holder's process writes without a pause, each time after it has asked Held. It is stopped at any
// moment for longer than its lease, three times, and a rival writes meanwhile. When it goes on, user code goes on first: the
// first thing that it asks says that the hold is lost, whichever that is, and it writes no more. Then it takes the lock anew. What
// it had asked before it was stopped no lock can take back; the process says whether that was so.
func TestFault_W19_AHolderThatWakesUpWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.startHolder(restlessWriter)
	for round := range 3 {
		written := r.key + ":written"
		r.eventually(func() bool { return r.raw.Get(t.Context(), written).Val() == "holder" }, "it writes")
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
		rival := someone()
		require.NoError(t, r.rival.Lock(rival, rlock.Wait(20*time.Second)))
		require.NoError(t, r.raw.Set(t.Context(), written, "rival", time.Minute).Err())
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
		var straddled, held, nested bool
		line := p.line()
		_, err := fmt.Sscanf(line, "lost %t %t %t", &straddled, &held, &nested)
		require.NoError(t, err, line)
		assert.False(t, held, "round %d", round)
		assert.False(t, nested, "a nested Lock in a hold that is lost, round %d", round)
		if straddled {
			t.Log("it was stopped between its question and its write")
		} else {
			assert.Equal(t, "rival", r.raw.Get(t.Context(), written).Val(), "round %d", round)
		}
		require.NoError(t, r.rival.Unlock(rival), "nobody has touched the rival's hold")
	}
}

// restlessWriter is the role of a process that writes while it holds, says when it lost its hold, and begins again.
const restlessWriter = "writes restlessly"

// init comes before the tests do, so that the process that writes runs none.
func init() {
	if words := strings.SplitN(os.Getenv(childEnv), " ", 3); len(words) == 3 && words[2] == restlessWriter {
		writeRestlessly(words[0], words[1])
	}
}

func writeRestlessly(addr, key string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	c, err := rlock.New(rdb, rlock.WithWatchdogTimeout(childWatchdog))
	if err != nil {
		panic(err)
	}
	l, ctx := c.NewLock(key), context.Background()
	h, err := l.Acquire(ctx)
	fmt.Println("held")
	for ; err == nil; h, err = l.Acquire(ctx) {
		straddled := writeWhileHeld(h, func() { _ = rdb.Set(ctx, key+":written", "holder", time.Minute).Err() })
		nested := l.Lock(ctx)
		fmt.Println("lost", straddled, h.Held(), !errors.Is(nested, rlock.ErrLost))
		_ = h.Release(ctx)
	}
	panic(err)
}

// writeWhileHeld reports whether the process was stopped between the last question and the write that it led to.
func writeWhileHeld(h *rlock.Hold, write func()) (straddled bool) {
	for {
		time.Sleep(5 * time.Millisecond)
		asked := instant()
		if !h.Held() {
			return straddled
		}
		write()
		straddled = instant()-asked > childWatchdog/2
	}
}
