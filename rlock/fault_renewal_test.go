package rlock_test

// The faults of a renewal that stops although the hold goes on: W1, W2 and W16.

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks promise P5: the server itself is in trouble for a moment while a renewal is due, in each way that a server has. The
// renewal is tried again, nobody gets in, the holder hears nothing, and the key never has less than a third of its lease.
func TestFault_W1_ARenewalThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	const lease = 1200 * time.Millisecond
	for name, trouble := range serverTroubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calmly(t, lease/12, newOwnRig(rlock.WithWatchdogTimeout(lease)), func(f *trial, r *rig) {
				h, err := r.lock.Acquire(someone())
				require.NoError(f, err)
				passed(lease/3 - 50*time.Millisecond) // a renewal is about to be sent
				trouble(r)
				least := lease
				for end := instant() + 3*lease/2; instant() < end; time.Sleep(5 * time.Millisecond) {
					least = min(least, r.raw.PTTL(t.Context(), r.key).Val())
					ok, err := r.rival.TryLock(someone())
					require.NoError(f, err)
					require.False(f, ok, "another got in")
					require.NoError(f, h.Context().Err(), "a false alarm")
				}
				assert.Greater(f, least, lease/3-20*time.Millisecond)
				require.NoError(f, h.Release(t.Context()))
			})
		})
	}
}

// serverTroubles last for a quarter of a second.
var serverTroubles = map[string]func(r *rig){
	"paused":  func(r *rig) { r.raw.Do(context.Background(), "CLIENT", "PAUSE", 250) },
	"asleep":  func(r *rig) { r.raw.Do(context.Background(), "DEBUG", "SLEEP", "0.25") },
	"stopped": func(r *rig) { r.srv.Pause(); passed(250 * time.Millisecond); r.srv.Resume() },
	"busy": func(r *rig) {
		done := outcome(func() error { return r.srv.Raw(r.t).Eval(context.Background(), "while true do end", nil).Err() })
		passed(250 * time.Millisecond)
		r.raw.ScriptKill(context.Background())
		r.t.Log("ended:", <-done)
	},
	"kicks everybody out": func(r *rig) {
		for range 5 {
			r.raw.Do(context.Background(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			passed(50 * time.Millisecond)
		}
	},
	"forgets the scripts": func(r *rig) {
		for range 5 {
			r.raw.ScriptFlush(context.Background())
			passed(50 * time.Millisecond)
		}
	},
}

// Attacks promises P6 and P9: a hold ends before it was given back, in each way there is, and the owner takes the lock again, by
// another handle or the same one. What is left of the first hold is in nobody's way: the second one is renewed under its own
// field for several leases, by one renewal, and so is a third.
func TestFault_W2_EachHoldAfterALossIsRenewed(t *testing.T) {
	t.Parallel()
	const lease = 600 * time.Millisecond
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calmly(t, lease/12, newOwnRig(rlock.WithWatchdogTimeout(lease)), func(f *trial, r *rig) {
				ctx, old := someone(), ""
				for round, l := range []*rlock.Lock{r.lock, r.lock, r.client.NewLock(r.key)} {
					require.NoError(f, l.Lock(ctx))
					view, ok := l.Held(ctx)
					require.True(f, ok)
					field := r.onlyField(f)
					require.NotEqual(f, old, field)
					require.NoError(f, r.proxy.WaitAnswered(shortly(t, 10*time.Second), renewalOf(field), 4), "renewed, round %d", round)
					require.NoError(f, view.Context().Err())
					assert.Equal(f, field, r.onlyField(f), "nobody else got in")
					assert.Equal(f, 1, r.client.Leftovers().Watched)
					if round == 2 {
						require.NoError(f, l.Unlock(ctx))
						break
					}
					lose(r)
					requireEnd(t, view.Context())
					r.proxy.Heal()
					require.ErrorIs(f, context.Cause(view.Context()), rlock.ErrLost)
					require.ErrorIs(f, l.Lock(ctx), rlock.ErrLost, "nested in what is lost")
					require.ErrorIs(f, l.Unlock(ctx), rlock.ErrLost)
					old = field
				}
				r.idle(10 * time.Second)
			})
		})
	}
}

var losses = map[string]func(r *rig){
	"deleted":         func(r *rig) { r.raw.Del(context.Background(), r.key) },
	"flushed":         func(r *rig) { r.raw.FlushAll(context.Background()) },
	"cut off":         func(r *rig) { r.proxy.BlackHole(true) },
	"out of reach":    func(r *rig) { r.proxy.Refuse(true); r.proxy.Cut() },
	"restarted empty": func(r *rig) { r.srv.Restart(false) },
	"unlocked by force": func(r *rig) {
		_, err := r.rival.ForceUnlock(context.Background())
		require.NoError(r.t, err)
	},
	"another was in": func(r *rig) {
		r.raw.Del(context.Background(), r.key)
		h, err := r.rival.Acquire(someone())
		require.NoError(r.t, err)
		passed(50 * time.Millisecond)
		require.NoError(r.t, h.Release(context.Background()))
	},
}

// Attacks promise P5: the network loses two of three renewals, for many leases. Nobody is told of a loss, and each success
// ends the back-off: the first failure after it is followed up as quickly as the very first one was.
func TestFault_W16_FailuresThatEndNeverAddUp(t *testing.T) {
	t.Parallel()
	const lease, rounds = 1500 * time.Millisecond, 4
	calmly(t, lease/16, newOwnRig(rlock.WithWatchdogTimeout(lease)), func(f *trial, r *rig) {
		h, err := r.lock.Acquire(someone())
		require.NoError(f, err)
		renewed := renewalOf(r.onlyField(f))
		require.NoError(f, r.proxy.WaitAnswered(t.Context(), renewed, 1))
		for round := range rounds {
			tries := r.proxy.Received(renewed)
			r.proxy.CutAfterWrite(2, renewed)
			require.NoError(f, r.proxy.WaitReceived(shortly(t, 10*time.Second), renewed, tries+1))
			failed := instant()
			require.NoError(f, r.proxy.WaitReceived(shortly(t, 10*time.Second), renewed, tries+2))
			assert.Less(f, instant()-failed, lease/3/2, "round %d", round)
			require.NoError(f, r.proxy.WaitReceived(shortly(t, 10*time.Second), renewed, tries+3))
			require.NoError(f, h.Context().Err(), "a false alarm in round %d", round)
		}
		require.NoError(f, h.Release(t.Context()))
	})
}

// Attacks promise P5 from the other side: renewals that fail without a proof, whatever the server says in its refusal, end a
// hold at its deadline and not before; a single proof ends it at once.
func TestFault_W16_OnlyProofOrTheDeadlineEndsAHold(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	for _, refusal := range []string{
		"-ERR unknown command", "-NOPERM this user has no permissions", "-WRONGTYPE Operation against a key", "-OOM command not allowed",
		"-READONLY You can't write against a read only replica.", "-MISCONF Redis is configured to save", "-UNKILLABLE Sorry",
	} {
		t.Run(strings.Fields(refusal)[0], func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rlock.WithWatchdogTimeout(lease))
			h, err := r.lock.Acquire(someone())
			require.NoError(t, err)
			until := h.ValidUntil()
			r.proxy.RefuseRequest(refusal, faultproxy.Every, renewScript)
			requireEnd(t, h.Context())
			assert.False(t, time.Now().Before(until.Add(-time.Millisecond)), "not before its deadline")
			require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
			require.ErrorIs(t, h.Release(t.Context()), rlock.ErrLost)

			r.proxy.Heal()
			r.free(10*time.Second, "given back")
			again, err := r.lock.Acquire(someone(), rlock.Wait(10*time.Second))
			require.NoError(t, err)
			until = again.ValidUntil()
			require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
			requireEnd(t, again.Context())
			assert.True(t, time.Now().Before(until), "long before its deadline")
			require.ErrorIs(t, again.Release(t.Context()), rlock.ErrLost)
		})
	}
}

// trial is one performance of a scene in which a hold has to survive. It takes the place of t in assertions.
type trial struct {
	mu     sync.Mutex // guards faults
	faults []string
}

func (f *trial) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

func (f *trial) FailNow() { runtime.Goexit() }

// calmly plays the scene on a machine that is calm. With short leases a pause of the machine is a loss that no library can
// prevent: a performance that fails counts only if neither this process nor the server stood still for as long as that.
func calmly(t *testing.T, still time.Duration, build func(*testing.T) *rig, scene func(*trial, *rig)) {
	t.Helper()
	for n, over := 1, false; !over; n++ {
		t.Run("performance "+strconv.Itoa(n), func(t *testing.T) {
			f, r := &trial{}, build(t)
			worst, done := r.pulse(), make(chan struct{})
			go func() { defer close(done); scene(f, r) }()
			<-done
			stood, faults := worst(), strings.Join(f.faults, "\n")
			over = faults == "" || t.Failed()
			if faults != "" && (stood < still || n == 5) {
				over = true
				t.Fatalf("the machine stood still for %v at most: %s", stood, faults)
			}
			if faults != "" {
				t.Logf("once more, for the machine stood still for %v: %s", stood, faults)
			}
		})
	}
}

// pulse begins to measure for how long at most nothing came back from a server of its own.
func (r *rig) pulse() (worst func() time.Duration) {
	end, most := make(chan struct{}), time.Duration(0)
	var running sync.WaitGroup
	raw := redistest.Shared(r.t).Raw(r.t)
	running.Go(func() {
		for last := instant(); !isOver(end); time.Sleep(2 * time.Millisecond) {
			raw.Ping(context.Background())
			now := instant()
			most, last = max(most, now-last), now
		}
	})
	return func() time.Duration { close(end); running.Wait(); return most }
}

// newOwnRig builds rigs whose server is theirs to trouble.
func newOwnRig(opts ...rlock.Option) func(*testing.T) *rig {
	return func(t *testing.T) *rig {
		t.Helper()
		r := newRigOn(t, redistest.Start(t, redistest.Config("enable-debug-command", "yes"), redistest.Config("busy-reply-threshold", "20")), opts...)
		r.knowRenewal()
		return r
	}
}

// knowRenewal lets the server know the script, so that the first renewal is one command, like every other.
func (r *rig) knowRenewal() {
	r.t.Helper()
	text, err := os.ReadFile("../lua/renew.lua")
	require.NoError(r.t, err)
	require.NoError(r.t, r.raw.ScriptLoad(context.Background(), string(text)).Err())
}

// onlyField is the one field under the lock's key.
func (r *rig) onlyField(f *trial) (field string) {
	all := r.fields()
	require.Len(f, all, 1)
	for field = range all {
		continue
	}
	return field
}

// renewalOf matches the renewals of one hold.
func renewalOf(field string) faultproxy.Match {
	return faultproxy.And(renewScript, faultproxy.Word(field))
}
