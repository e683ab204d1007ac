package rlock_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// However the redis client is set to retry, it never sends a lock's command again by itself: each attempt is rlock's own,
// and each that may have run before has a field of its own.
func TestP2_TheRetriesOfTheRedisClientAreNotUsed(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{-1, 0, 10} {
		t.Run(strconv.Itoa(retries), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.warm()
			l := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), MaxRetries: retries}).NewLock(r.key)
			fields := r.firstAttempts()
			ctx := someone()
			for _, step := range []struct {
				op    func(context.Context) error
				fault faultproxy.Match
				count string
			}{
				{func(ctx context.Context) error { return l.Lock(ctx) }, acquireScript, "1"},
				{func(ctx context.Context) error { return l.Lock(ctx) }, acquireScript, "2"},
				{l.Unlock, releaseScript, "1"},
			} {
				r.proxy.CutAfterWrite(2, step.fault)
				require.NoError(t, step.op(ctx))
				_, count := r.field()
				assert.Equal(t, step.count, count)
			}
			r.proxy.CutAfterWrite(2, releaseScript)
			require.NoError(t, l.Unlock(ctx))
			assert.Zero(t, r.raw.Exists(ctx, r.key).Val(), "one Unlock per Lock frees it")
			for field, times := range fields() {
				assert.Equal(t, 1, times, field)
			}
			assert.Len(t, fields(), 3, "two attempts were lost")
		})
	}
}

// A pipeline of renewals is cut in the middle, again and again: no hold is lost by that, no count is touched.
func TestP2_ACutPipelineOfRenewalsChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(1500*time.Millisecond))
	holds := make([]*rlock.Hold, 30)
	for i := range holds {
		h, err := r.client.NewLock(r.key + strconv.Itoa(i)).Acquire(someone())
		require.NoError(t, err)
		holds[i] = h
	}
	for i := range 4 {
		r.proxy.CutAfterWrite(1, faultproxy.And(renewScript, faultproxy.Word(r.key+strconv.Itoa(7*i))))
	}
	passed(2500 * time.Millisecond)
	for i, h := range holds {
		require.True(t, h.Held())
		require.Equal(t, 1, levelsIn(t, r.raw, r.key+strconv.Itoa(i)))
		require.NoError(t, h.Release(t.Context()))
		require.Zero(t, r.raw.Exists(t.Context(), r.key+strconv.Itoa(i)).Val())
	}
}

// An owner goes in and out at random while the network fails at random, with a small patience so that calls fail too. The
// count in Redis comes to be what the owner was told, and as many unlocks as successful locks free the key.
func TestP2_TheCountIsWhatTheOwnerWasTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithRetryBudget(20*time.Millisecond), rlock.WithWatchdogTimeout(6*time.Second))
	r.warm()
	ctx, levels, failures := someone(), 0, 0
	for range 60 {
		r.randomFault()
		if levels == 0 || rand.N(2) == 0 {
			bounded, cancel := context.WithTimeout(ctx, time.Duration(1+rand.N(40))*time.Millisecond)
			if r.lock.Lock(bounded) == nil {
				levels++
			} else {
				failures++
			}
			cancel()
			continue
		}
		if r.lock.Unlock(ctx) != nil {
			failures++ // given back all the same
		}
		levels--
	}
	r.proxy.Heal()
	t.Logf("%d levels after %d failures", levels, failures)
	assert.Positive(t, failures)
	r.eventually(func() bool { return levelsIn(t, r.raw, r.key) == levels }, "the count is what the owner was told")
	for range levels {
		require.NoError(t, r.lock.Unlock(ctx))
	}
	require.ErrorIs(t, r.lock.Unlock(ctx), rlock.ErrNotHeld)
	r.gone(5*time.Second, "one Unlock per Lock frees it")
	r.idle(15 * time.Second)
}

// Goroutines of one owner give back all but one of its levels at the same time: each of them one, also while a command of the
// first is on its way for longer than those of the others would be.
func TestP2_UnlocksAtTheSameTimeGiveBackALevelEach(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.client.NewLock(r.client.ID()) // a failure leaves a key
	for range 50 {
		ctx := someone()
		const levels = 4
		for range levels + 1 {
			require.NoError(t, l.Lock(ctx))
		}
		errs := make(chan error, levels)
		r.proxy.HoldRequest(5*time.Millisecond, 1, releaseScript)
		var crew sync.WaitGroup
		for range levels {
			crew.Go(func() { errs <- l.Unlock(ctx) })
		}
		crew.Wait()
		for range levels {
			require.NoError(t, <-errs)
		}
		require.Equal(t, 1, levelsIn(t, r.raw, l.Name()))
		require.NoError(t, l.Unlock(ctx))
		require.Zero(t, r.raw.Exists(ctx, l.Name()).Val())
	}
}

// A hold is given back by two goroutines while a third one of the same owner takes the lock again: one of the two succeeds,
// and the new hold is not theirs.
func TestP2_ADoubleReleaseNeverTouchesTheNextHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := someone()
	for range 100 {
		h, err := r.lock.Acquire(ctx)
		require.NoError(t, err)
		one, two := outcome(func() error { return h.Release(ctx) }), outcome(func() error { return h.Release(ctx) })
		again, err := r.lock.Acquire(ctx)
		require.NoError(t, err)
		errs := []error{<-one, <-two}
		assert.Contains(t, errs, nil)
		for _, err := range errs {
			if err != nil {
				require.ErrorIs(t, err, rlock.ErrNotHeld)
			}
		}
		require.True(t, again.Held())
		require.Equal(t, 1, levelsIn(t, r.raw, r.key))
		require.NoError(t, again.Release(ctx))
	}
}

// firstAttempts counts by field how often an acquire that begins a hold was sent.
func (r *rig) firstAttempts() (fields func() map[string]int) {
	var mu sync.Mutex
	seen := map[string]int{}
	r.record(func(words []string) {
		if acquireScript(words) && len(words) > 5 && words[5] == "1" {
			mu.Lock()
			defer mu.Unlock()
			seen[words[4]]++
		}
	})
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

// randomFault prepares one of the ways in which the next command goes wrong, or none.
func (r *rig) randomFault() {
	m := acquireScript
	if rand.N(2) == 0 {
		m = releaseScript
	}
	switch rand.N(8) {
	case 0:
		r.proxy.CutAfterWrite(1, m)
	case 1:
		r.proxy.DropReply(1, m)
	case 2:
		r.proxy.HoldRequest(rand.N(60*time.Millisecond), 1, m)
	case 3:
		// An acquire that begins a hold is not repeated: it would leave a key for one lease, as is said.
		nested := func(words []string) bool { return acquireScript(words) && len(words) > 5 && words[5] != "1" }
		r.proxy.RepeatRequest(rand.N(20*time.Millisecond), 1, faultproxy.Or(releaseScript, nested))
	case 4:
		r.proxy.RefuseRequest("-LOADING Redis is loading the dataset in memory", 2, m)
	case 5:
		r.proxy.Cut()
	default:
		r.proxy.Heal()
	}
}
