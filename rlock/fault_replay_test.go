package rlock_test

// The faults of a command that runs twice, late, or unseen: R1, R2, R4, R5, R6 and R7.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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

// Attacks P2, a lost reply changes nothing: the answer to each first acquire and release of a level comes after the
// client's patience, whatever its own retries are set to, and whether it takes the server for a cluster. The count is
// that of the successful Locks, and as many Unlocks free the key.
func TestFault_R1_AnAcquireThatIsSentAgainCountsOnce(t *testing.T) {
	t.Parallel()
	const patience, levels = answerTime, 2
	single := func(addr string, retries int) redis.UniversalClient {
		return redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: patience, MaxRetries: retries})
	}
	for name, open := range map[string]func(addr string) redis.UniversalClient{
		"no retries":         func(addr string) redis.UniversalClient { return single(addr, -1) },
		"the default's":      func(addr string) redis.UniversalClient { return single(addr, 0) },
		"one retry":          func(addr string) redis.UniversalClient { return single(addr, 1) },
		"forty retries":      func(addr string) redis.UniversalClient { return single(addr, 40) },
		"a cluster's client": func(addr string) redis.UniversalClient { return clusterOfOne(addr, patience) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.warm()
			rdb := open(r.proxy.Addr())
			t.Cleanup(func() { _ = rdb.Close() })
			l, ctx := newClient(t, rdb).NewLock(r.key), someone()
			r.proxy.DelayReplies(2*patience, everyOther(faultproxy.And(faultproxy.Word(r.key), acquireScript)),
				everyOther(faultproxy.And(faultproxy.Word(r.key), releaseScript)))
			for level := range levels {
				sent := r.proxy.Seen(acquireScript)
				require.NoError(t, l.Lock(ctx))
				assert.GreaterOrEqual(t, r.proxy.Seen(acquireScript)-sent, 2, "one was late")
				_, count := r.field()
				require.Equal(t, strconv.Itoa(level+1), count)
			}
			for level := range levels {
				require.Equal(t, levels-level, levelsIn(t, r.raw, r.key))
				require.NoError(t, l.Unlock(ctx))
			}
			assert.Empty(t, r.fields(), "one Unlock per Lock")
			require.ErrorIs(t, l.Unlock(ctx), rlock.ErrNotHeld)
		})
	}
}

// Attacks P2: release after release takes effect, and the connection breaks before the answer, up to three times in a
// row. A redis client with its defaults and three waiters of another process: Unlock is a success, and one of them gets
// in.
func TestFault_R2_AReleaseThatIsSentAgainIsASuccess(t *testing.T) {
	t.Parallel()
	const rounds, waiters = 9, 3
	r := newRig(t)
	r.warm()
	l := r.clientWith(&redis.Options{Addr: r.proxy.Addr()}).NewLock(r.key)
	others := r.newClient(r.srv.Addr())
	for round := range rounds {
		holder := someone()
		require.NoError(t, l.Lock(holder))
		entered, leave := make(chan int, waiters), make(chan struct{})
		line := outcome(func() error {
			return crowd(waiters, waiters, func(i int) error {
				return others.NewLock(r.key).Do(someone(), func(context.Context) error {
					entered <- i
					<-leave
					return nil
				})
			})
		})
		eventually(t, func() bool { return others.Leftovers().Seats == waiters }, "they wait")
		r.proxy.CutAfterWrite(1+round%3, releaseScript)
		require.NoError(t, l.Unlock(holder))
		r.eventually(func() bool { return len(entered) > 0 }, "one got in")
		passed(5 * time.Millisecond)
		assert.Len(t, entered, 1, "and no other")
		require.ErrorIs(t, l.Unlock(holder), rlock.ErrNotHeld)
		close(leave)
		require.NoError(t, inTime(t, 10*time.Second, line, "everybody's turn"))
	}
}

// Attacks P2, the count is what the caller was told: Unlock fails, and its release never arrives. Whoever locks next
// does not re-enter what was given up: not by the same owner, not in the same process. Elsewhere the lock is free after
// its lease.
func TestFault_R4_AfterAFailedUnlockNobodyReenters(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	for name, again := range map[string]func(r *rig, owner context.Context){
		"by the same owner": func(r *rig, owner context.Context) { r.requireFresh(owner) },
		"by another owner":  func(r *rig, _ context.Context) { r.requireFresh(someone()) },
		"elsewhere": func(r *rig, _ context.Context) {
			renewals := r.proxy.Received(renewScript)
			r.free(10*time.Second, "nobody renews it")
			assert.Equal(r.t, renewals, r.proxy.Received(renewScript))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rlock.WithWatchdogTimeout(lease), rlock.WithRetryBudget(2*answerTime))
			r.warm()
			owner := someone()
			require.NoError(t, r.lock.Lock(owner))
			r.proxy.HoldRequest(time.Hour, faultproxy.Every, releaseScript)
			err := r.lock.Unlock(owner)
			require.Equal(t, "transport", matches(err))
			again(r, owner)
		})
	}
}

// Attacks P3, anything but nil leaves nothing behind: the acquire is granted, nobody learns of it, and its caller gives
// up. A rival gets in at once although the lease is an hour. So it does when the redis client has but one connection,
// which is the one that went silent.
func TestFault_R5_AGrantWhoseAnswerIsLostIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]redis.Options{
		"defaults":       {},
		"one connection": {PoolSize: 1, ReadTimeout: answerTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.warm()
			options.Addr = r.proxy.Addr()
			c := r.clientWith(&options)
			r.proxy.DropReply(1, acquireScript)
			_, err := c.NewLock(r.key).Acquire(shortly(t, 60*time.Millisecond), rlock.Lease(time.Hour))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			r.eventually(func() bool { return r.proxy.Answered(releaseScript) > 1 }, "given back, after the warming up")
			r.free(10*time.Second, "far sooner than in an hour")
			assert.Zero(t, c.Leftovers().Watched)
			r.proxy.Cut() // the Client would wait for the answer when it closes
		})
	}
}

// Attacks P3 and P6, only a hold is renewed: the answer comes when its caller has given up, and nothing can be given back.
// The grant is nobody's then. No callback of the late answer hands it to the watchdog, so a rival is in after one lease.
func TestFault_R5_AGrantThatComesTooLateIsNotRenewed(t *testing.T) {
	t.Parallel()
	const lease = 1800 * time.Millisecond
	r := newRig(t)
	r.warm()
	c := r.clientWith(&redis.Options{Addr: r.proxy.Addr()}, rlock.WithWatchdogTimeout(lease))
	r.refuse("-LOADING x", releaseScript)
	r.proxy.DelayReplies(lease/3, acquireScript)
	renewed, answered := r.proxy.Received(renewScript), r.proxy.Answered(acquireScript)
	ctx, giveUp := context.WithCancel(someone())
	defer giveUp()
	got := outcome(func() error { return c.NewLock(r.key).Lock(ctx) })
	require.NoError(t, r.proxy.WaitAnswered(shortly(t, soonEnough), acquireScript, answered+1))
	giveUp()
	require.ErrorIs(t, <-got, context.Canceled)
	r.free(10*time.Second, "its lease ends")
	assert.Equal(t, renewed, r.proxy.Received(renewScript))
	assert.Zero(t, c.Leftovers().Watched)
}

// Attacks P3: the acquires are held up on their way, their callers give up, and what gives back overtakes them. When
// they arrive, with an answer that somebody hears or with none, nothing stays and the watchdog knows of none.
func TestFault_R6_AnAcquireThatIsOvertakenByItsGiveBackLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, patience := range map[string]time.Duration{"answered late": 2 * time.Second, "never answered": answerTime} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const acquires, atOnce = 30, 10
			r := newRig(t)
			r.warm()
			c := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: patience, PoolSize: 4 * atOnce})
			acquired := r.proxy.Answered(acquireScript)
			var overtaken atomic.Int64
			require.NoError(t, crowd(atOnce, acquires, func(i int) error {
				ofThis := faultproxy.Word(r.key + strconv.Itoa(i))
				acquire, release := faultproxy.And(ofThis, acquireScript), faultproxy.And(ofThis, releaseScript)
				r.proxy.HoldRequest(answerTime+rand.N(answerTime), 1, acquire)
				ctx, giveUp := context.WithCancel(someone())
				defer giveUp()
				lock := outcome(func() error { return c.NewLock(r.key + strconv.Itoa(i)).Lock(ctx) })
				patient := shortly(t, 15*time.Second)
				if err := r.proxy.WaitReceived(patient, acquire, 1); err != nil {
					return fmt.Errorf("the acquire: %w", err)
				}
				giveUp()
				if err := <-lock; err == nil { // a busy machine was too slow, and the next attempt got in
					return c.NewLock(r.key + strconv.Itoa(i)).Unlock(ctx)
				}
				if err := r.proxy.WaitAnswered(patient, release, 1); err != nil {
					return fmt.Errorf("its give-back: %w", err)
				}
				if r.proxy.Answered(acquire) == 0 {
					overtaken.Add(1)
				}
				return nil
			}))
			assert.Positive(t, overtaken.Load())
			require.NoError(t, r.proxy.WaitAnswered(shortly(t, 15*time.Second), acquireScript, acquired+acquires))
			r.eventually(func() bool { return len(r.raw.Keys(t.Context(), glob(r.key)).Val()) == 0 }, "the lease is 30s")
			assert.Zero(t, c.Leftovers().Watched)
		})
	}
}

// Attacks P3, nothing left behind: what gives back must not stand in its own way. Its release waits for the one
// connection, as its acquire does, and is not sent again and again meanwhile.
func TestFault_R6_OneGiveBackIsUnderWayAtATime(t *testing.T) {
	t.Parallel()
	const busy = 1500 * time.Millisecond
	r := newRig(t)
	rdb := redis.NewClient(&redis.Options{
		Addr: r.srv.Addr(), PoolSize: 1, PoolTimeout: time.Minute, ReadTimeout: 100 * time.Millisecond,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	c := newClient(t, rdb)
	var sent atomic.Int64
	rdb.AddHook(ears{func(cmd redis.Cmder) {
		if slices.Contains(cmd.Args(), any(rlock.ChannelOf(r.key))) {
			sent.Add(1)
		}
	}})
	blocked := outcome(func() error { return rdb.BLPop(t.Context(), busy, r.key+":never").Err() })
	r.eventually(func() bool { s := rdb.PoolStats(); return s.TotalConns == 1 && s.IdleConns == 0 }, "the pool is empty")
	require.ErrorIs(t, c.NewLock(r.key).Lock(shortly(t, 50*time.Millisecond)), context.DeadlineExceeded)
	r.eventually(func() bool { return sent.Load() > 0 }, "given back")
	require.ErrorIs(t, <-blocked, redis.Nil)
	assert.LessOrEqual(t, sent.Load(), int64(2), "one, and perhaps one more since then")
	requireNothingLeft(t, c)
	assert.Empty(t, r.fields())
}

// Attacks P3 and P7: three attempts in a row are granted and their answers are lost, and nothing can be given back. The
// acquire does not wait for what it left behind itself.
func TestFault_R7_AnAcquireDoesNotWaitForItsOwnAttempts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	r.proxy.HoldRequest(time.Hour, faultproxy.Every, releaseScript)
	r.proxy.DropReply(3, acquireScript)
	sent := r.proxy.Answered(acquireScript)
	owner := someone()
	ok, err := r.lock.TryLock(owner, rlock.Wait(9*time.Second), rlock.Lease(time.Hour))
	require.NoError(t, err)
	require.True(t, ok, "far sooner than in an hour")
	assert.Equal(t, 4, r.proxy.Answered(acquireScript)-sent)
	_, count := r.field()
	assert.Equal(t, "1", count)
	r.proxy.Heal()
	require.NoError(t, r.lock.Unlock(owner))
	assert.Empty(t, r.fields())
}

// requireFresh takes the lock, which must be a hold of its own, and gives it back.
func (r *rig) requireFresh(owner context.Context) {
	r.t.Helper()
	given, _ := r.field()
	require.NoError(r.t, r.client.NewLock(r.key).Lock(owner))
	field, count := r.field()
	assert.NotEqual(r.t, given, field)
	assert.Equal(r.t, "1", count)
	r.proxy.Heal()
	require.NoError(r.t, r.lock.Unlock(owner))
	assert.Empty(r.t, r.fields(), "one Unlock frees it")
	r.free(time.Second, "everybody can lock again")
}

// everyOther matches the first, third, … request that m matches. It is for one call of the proxy, which asks it once a
// request.
func everyOther(m faultproxy.Match) faultproxy.Match {
	var n atomic.Int64
	return func(words []string) bool { return m(words) && n.Add(1)%2 == 1 }
}

// clusterOfOne is a client that takes a lone server for a whole cluster.
func clusterOfOne(addr string, patience time.Duration) redis.UniversalClient {
	slots := []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}
	return redis.NewClusterClient(&redis.ClusterOptions{
		ReadTimeout:  patience,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return slots, nil },
	})
}
