package rlock_test

// The faults of giving back what is not, or not any more, one's own, R9, R11 and R12; and of giving back for ever, R13.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks P1 and P2, nothing sent for an earlier hold touches a later one: A loses the lock, B has it, and then A gives
// back, in every way. B's field, count and expiry are what they were, and A is told.
func TestFault_R9_AGiveBackAfterALossLeavesTheNextHolderAlone(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(r *rig, told context.Context){
		"the lease ended":         untilTold,
		"deleted, and not told":   deleted,
		"deleted, and told":       func(r *rig, told context.Context) { deleted(r, told); untilTold(r, told) },
		"cut off for a long time": func(r *rig, told context.Context) { cutOff(r, told); r.proxy.Heal() },
	} {
		for verb, take := range givingBack {
			t.Run(name+", "+verb, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, rlock.WithWatchdogTimeout(600*time.Millisecond))
				var opts []rlock.AcquireOption
				if name == "the lease ended" {
					opts = []rlock.AcquireOption{rlock.Lease(200 * time.Millisecond)}
				}
				var before map[string]string
				requireLoss(t, take(r.lock, someone(), opts, func(told context.Context) {
					lose(r, told)
					require.NoError(t, r.rival.Lock(someone(), rlock.Lease(time.Hour)))
					before = r.fields()
				}))
				r.idle(10 * time.Second) // what A leaves behind is given back too
				assert.Equal(t, before, r.fields())
				assert.Greater(t, r.ttl(), 59*time.Minute)
			})
		}
	}
}

// Attacks P2: two goroutines give back one level at once, by its owner or by its Hold, while another owner of the process
// locks, and the network sends each release twice. One of them succeeds, and the new hold is not touched.
func TestFault_R11_OfTwoUnlocksOneSucceedsAndTheNextHoldIsUntouched(t *testing.T) {
	t.Parallel()
	const rounds = 60
	for verb, take := range oneLevel {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.warm()
			gives := faultproxy.Or(releaseScript, handOverScript)
			r.proxy.RepeatRequest(0, faultproxy.Every, gives)
			answered := r.proxy.Answered(gives)
			for range rounds {
				bob := someone()
				giveBack, err := take(r.lock, someone())
				require.NoError(t, err)
				next := outcome(func() error { return r.lock.Lock(bob) })
				requireOneSucceeds(t, giveBack)
				require.NoError(t, inTime(t, 10*time.Second, next, "bob's turn"))
				require.Len(t, r.mine(r.client), 1)
				h, ok := r.lock.Held(bob)
				require.True(t, ok && h.Held())
				require.NoError(t, r.lock.Unlock(bob))
			}
			r.eventually(func() bool { return r.proxy.Answered(gives)-answered >= 4*rounds }, "each was repeated")
			assert.Empty(t, r.fields())
		})
	}
}

// Attacks P2: the level that two give back at once is within another, of the same owner. It is the inner one that goes, once.
func TestFault_R11_OfTwoUnlocksOfAnInnerLevelNoneTakesTheOuterOne(t *testing.T) {
	t.Parallel()
	const rounds = 30
	for verb, take := range oneLevel {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for range rounds {
				ann := someone()
				outer, err := r.lock.Acquire(ann)
				require.NoError(t, err)
				giveBack, err := take(r.lock, ann)
				require.NoError(t, err)
				requireOneSucceeds(t, giveBack)
				require.Equal(t, 1, levelsIn(t, r.raw, r.key))
				require.True(t, outer.Held())
				require.NoError(t, outer.Release(ann))
				require.Empty(t, r.fields())
			}
		})
	}
}

// oneLevel takes a level and returns what gives it back.
var oneLevel = map[string]func(l *rlock.Lock, ctx context.Context) (giveBack func() error, err error){
	"by owner": func(l *rlock.Lock, ctx context.Context) (func() error, error) {
		return func() error { return l.Unlock(ctx) }, l.Lock(ctx)
	},
	"by hold": func(l *rlock.Lock, ctx context.Context) (func() error, error) {
		h, err := l.Acquire(ctx)
		return func() error { return h.Release(ctx) }, err
	},
}

// requireOneSucceeds gives back twice at once.
func requireOneSucceeds(t *testing.T, giveBack func() error) {
	t.Helper()
	one, two := outcome(giveBack), outcome(giveBack)
	require.ElementsMatch(t, []string{"", "ErrNotHeld"}, []string{matches(<-one), matches(<-two)})
}

// Attacks P2 and P10: the Client is closed, which gives the holder up, and its deferred Unlock comes when somebody else
// has the lock.
func TestFault_R11_AnUnlockAfterTheCloseTouchesNobody(t *testing.T) {
	t.Parallel()
	r, ann := newRig(t, rlock.WithWatchdogTimeout(600*time.Millisecond)), someone()
	require.NoError(t, r.lock.Lock(ann))
	h, err := r.lock.Acquire(ann)
	require.NoError(t, err)
	require.Error(t, r.client.Close(ended()))
	require.NoError(t, r.rival.Lock(someone()), "when the lease has ended")
	before := r.fields()
	assert.Contains(t, []string{"ErrClosed", "ErrNotHeld ErrLost"}, matches(r.lock.Unlock(ann)))
	assert.Contains(t, []string{"ErrClosed", "ErrNotHeld ErrLost"}, matches(h.Release(ann)))
	require.Equal(t, "ErrNotHeld", matches(r.lock.Unlock(ann)))
	assert.Equal(t, before, r.fields())
}

// Attacks P2 and P4: the work takes about as long as the fixed lease, with and without a look before the unlock.
// Whichever comes first, the unlock is a success or says that the lock was lost, and leaves nothing.
func TestFault_R12_UnlockingAtTheEndOfTheLeaseIsAnOrdinaryAnswer(t *testing.T) {
	t.Parallel()
	const runs, lease = 300, 90 * time.Millisecond
	r := newRig(t)
	var released, lost atomic.Int64
	require.NoError(t, crowd(20, runs, func(i int) error {
		l, ctx := r.client.NewLock(r.key+strconv.Itoa(i)), someone()
		if err := l.Lock(ctx, rlock.Lease(lease)); err != nil {
			return unlessMatches("transport", err) // a busy machine may take longer than the lease for every answer
		}
		began := instant()
		time.Sleep(lease/3 + rand.N(lease*2/3))
		h, ok := l.Held(ctx)
		sure := ok && h.Held()
		unlocked := instant()
		switch err := l.Unlock(ctx); {
		case err == nil && unlocked-began < lease:
			released.Add(1)
		case matches(err) == "ErrNotHeld ErrLost" && (sure || !ok || !h.Held()):
			lost.Add(1)
		default:
			return fmt.Errorf("after %v of %v, held: %v: %w", unlocked-began, lease, sure, err)
		}
		return nil
	}))
	t.Logf("%d released, %d lost", released.Load(), lost.Load())
	assert.Positive(t, lost.Load())
	r.eventually(func() bool { return len(r.raw.Keys(t.Context(), glob(r.key)).Val()) == 0 }, "nothing stays")
	r.idle(10 * time.Second)
}

// Attacks P8, giving back is bounded: Redis hangs in one of several ways while three levels of an owner are given back
// at the same time, with a context that never ends. Each comes back within the retry budget and one answer, or twice that
// if another of its owner hangs before it, and says that nobody knows; and soon after Redis is back the key is gone.
func TestFault_R13_UnlockEndsHoweverRedisHangs(t *testing.T) {
	t.Parallel()
	const budget, levels = 2 * answerTime, 3
	for name, hang := range map[string]func(r *rig){
		"black hole":         (*rig).silence,
		"new connections":    func(r *rig) { r.silence(); r.proxy.Cut() },
		"port closed":        (*rig).unplug,
		"topology changes":   func(r *rig) { r.refuse("-CLUSTERDOWN x", releaseScript) },
		"answers are lost":   func(r *rig) { r.proxy.DropReply(faultproxy.Every, releaseScript) },
		"requests are stuck": func(r *rig) { r.proxy.HoldRequest(time.Hour, faultproxy.Every, releaseScript) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := watchStalls(t)
			r, owner := newRig(t, rlock.WithRetryBudget(budget)), someone()
			r.warm()
			for range levels {
				require.NoError(t, r.lock.Lock(owner))
			}
			hang(r)
			began := instant()
			crew := outcome(func() error {
				return crowd(levels, levels, func(int) error { return unlessUnknown(r.lock.Unlock(owner)) })
			})
			require.NoError(t, inTime(t, 30*time.Second, crew, "it hangs with Redis"))
			assert.Less(t, instant()-began, 2*(budget+answerTime)+300*time.Millisecond+6*late.late())
			require.Equal(t, "ErrNotHeld", matches(r.lock.Unlock(owner)), "all were given back")
			r.proxy.Heal()
			r.gone(10*time.Second, "far sooner than the lease of 30s")
		})
	}
}

// givingBack holds the lock while something happens, and gives it back by this verb.
var givingBack = map[string]func(l *rlock.Lock, ctx context.Context, o []rlock.AcquireOption, h happening) error{
	"unlock": func(l *rlock.Lock, ctx context.Context, o []rlock.AcquireOption, happens happening) error {
		if err := l.Lock(ctx, o...); err != nil {
			return err
		}
		h, _ := l.Held(ctx)
		happens(h.Context())
		return l.Unlock(ctx)
	},
	"release": func(l *rlock.Lock, ctx context.Context, o []rlock.AcquireOption, happens happening) error {
		h, err := l.Acquire(ctx, o...)
		if err != nil {
			return err
		}
		happens(h.Context())
		return h.Release(ctx)
	},
	"do": func(l *rlock.Lock, ctx context.Context, o []rlock.AcquireOption, happens happening) error {
		return l.Do(ctx, func(ctx context.Context) error { happens(ctx); return nil }, o...)
	},
}

// happening is what goes on under a hold, whose context it is given.
type happening func(told context.Context)

// untilTold waits for the end of a hold.
func untilTold(r *rig, told context.Context) {
	r.t.Helper()
	requireEnd(r.t, told)
}

// deleted takes the key away.
func deleted(r *rig, _ context.Context) {
	r.t.Helper()
	require.NoError(r.t, r.raw.Del(context.Background(), r.key).Err())
}

// forced unlocks by force, from elsewhere.
func forced(r *rig, _ context.Context) {
	r.t.Helper()
	ok, err := r.rival.ForceUnlock(context.Background())
	require.NoError(r.t, err)
	require.True(r.t, ok)
}

// cutOff lets no answer through for as long as a hold lasts.
func cutOff(r *rig, told context.Context) {
	r.t.Helper()
	r.silence()
	untilTold(r, told)
}

// refuse lets every such command be answered by an error from now on.
func (r *rig) refuse(reply string, m faultproxy.Match) {
	r.proxy.RefuseRequest(reply, faultproxy.Every, m)
}
