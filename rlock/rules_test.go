package rlock_test

// Each rule of the protocol, by the shortest story in which a lock without it breaks.

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// An acquire is late, its caller gives up, the give-back is later still; meanwhile the same owner holds the lock again.
// Were the field the owner's and not the attempt's, the late give-back would free the live hold.
func TestRule1_ALateGiveBackCannotTouchALaterHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	r.warm()
	r.proxy.HoldRequest(400*time.Millisecond, 1, acquireScript)
	r.proxy.HoldRequest(900*time.Millisecond, 1, releaseScript)
	first, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.lock.Lock(first), context.DeadlineExceeded)

	require.NoError(t, r.lock.Lock(ctx))
	held, _ := r.field()
	passed(1200 * time.Millisecond) // both late commands have arrived by then
	field, count := r.field()
	assert.Equal(t, held, field)
	assert.Equal(t, "1", count)
	r.taken("the owner still holds it")
	require.NoError(t, r.lock.Unlock(ctx))
	r.gone(time.Second, "one Unlock frees it")
}

// A proxy repeats a release that was answered already, when the same owner holds the lock anew.
func TestRule1_ARepeatedReleaseCannotTouchALaterHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	require.NoError(t, r.lock.Lock(ctx))
	earlier, _ := r.field()
	r.proxy.RepeatRequest(200*time.Millisecond, 1, releaseScript)
	require.NoError(t, r.lock.Unlock(ctx))
	require.NoError(t, r.lock.Lock(ctx))
	seen := r.proxy.Seen(releaseScript)
	r.eventually(func() bool { return r.proxy.Answered(releaseScript) > seen }, "the release is repeated")
	later, count := r.field()
	assert.NotEqual(t, earlier, later, "a field is never used again")
	assert.Equal(t, "1", count)
	require.NoError(t, r.lock.Unlock(ctx))
}

// The acquire ran, its reply is lost, and so is every release that would clean up. The process knows its orphan and steps
// over it; only others have to wait for the lease.
func TestRule2_NobodyWaitsForAnOrphanOfHisOwnProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	r.proxy.DropReply(1, acquireScript)
	r.proxy.HoldRequest(time.Minute, faultproxy.Every, releaseScript)
	ctx, cancel := context.WithTimeout(freshOwner(t), 50*time.Millisecond)
	defer cancel()
	require.Error(t, r.lock.Lock(ctx))
	r.eventually(func() bool { return len(r.fields()) == 1 }, "the orphan stands")
	orphan, _ := r.field()

	began := time.Now()
	other := freshOwner(t)
	ok, err := r.lock.TryLock(other)
	require.NoError(t, err)
	require.True(t, ok, "an abandoned field counts as free, also for another owner of the process")
	assert.Less(t, time.Since(began), 5*time.Second, "far below the lease of 30s")
	field, _ := r.field()
	assert.NotEqual(t, orphan, field)
}

// The caller hears that it did not get the lock, and at that very moment the orphan counts as free.
func TestRule2_AnOrphanIsKnownBeforeTheCallerReturns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	r.proxy.DropReply(1, acquireScript)
	r.proxy.HoldRequest(time.Minute, faultproxy.Every, releaseScript)
	ctx, giveUp := context.WithCancel(freshOwner(t))
	answered := r.proxy.Answered(acquireScript)
	done := outcome(func() error { return r.lock.Lock(ctx) })
	require.NoError(t, r.proxy.WaitAnswered(t.Context(), acquireScript, answered+1))
	giveUp()
	require.ErrorIs(t, <-done, context.Canceled)
	ok, err := r.lock.TryLock(freshOwner(t))
	require.NoError(t, err)
	require.True(t, ok)
}

// A process gives up so often, while nothing can be given back, that a command cannot name all its orphans. It names the
// newest, which are the likeliest to stand.
func TestRule2_TheNewestOrphansAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	c := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: answerTime, PoolSize: 500})
	l := c.NewLock(r.key)
	const many, named, before = 70, 64, 8 // before: the words of an acquire that come before the names
	r.proxy.RefuseRequest("-LOADING Redis is loading", faultproxy.Every, releaseScript)
	giveUp := func(gone func() bool) {
		ctx, giveUp := context.WithCancel(freshOwner(t))
		done := outcome(func() error { return l.Lock(ctx) })
		r.eventually(gone, "under way")
		giveUp()
		require.ErrorIs(t, <-done, context.Canceled)
	}
	r.proxy.HoldRequest(time.Minute, many, acquireScript)
	received := r.proxy.Received(acquireScript)
	for i := range many {
		giveUp(func() bool { return r.proxy.Received(acquireScript) > received+i })
	}
	r.proxy.DropReply(1, acquireScript)
	giveUp(func() bool { return len(r.fields()) == 1 })

	var longest atomic.Int64 // several connections are listened to
	r.record(func(words []string) { longest.Store(max(longest.Load(), int64(len(words)))) })
	ok, err := l.TryLock(freshOwner(t))
	require.NoError(t, err)
	require.True(t, ok, "the newest orphan counts as free")
	assert.EqualValues(t, before+named, longest.Load(), "and no command grows without bounds")
}

// An acquire that finds its orphan in the middle of its own retries takes it over at once.
func TestRule2_ARetryDoesNotWaitForItsOwnFirstAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	r.warm()
	r.proxy.DropReply(1, acquireScript)
	began := time.Now()
	require.NoError(t, r.lock.Lock(ctx))
	assert.Less(t, time.Since(began), 5*time.Second)
	_, count := r.field()
	assert.Equal(t, "1", count)
	require.NoError(t, r.lock.Unlock(ctx))
	r.gone(time.Second, "one Unlock frees it")
}

func TestRule3_RepeatedCommandsDoNotMiscount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	ctx := freshOwner(t)
	require.NoError(t, r.lock.Lock(ctx))
	for _, depth := range []string{"2", "3"} {
		r.repeated(acquireScript, func() { require.NoError(t, r.lock.Lock(ctx)) })
		_, count := r.field()
		assert.Equal(t, depth, count)
	}
	for _, depth := range []string{"2", "1"} {
		r.repeated(releaseScript, func() { require.NoError(t, r.lock.Unlock(ctx)) })
		_, count := r.field()
		assert.Equal(t, depth, count)
	}
	require.NoError(t, r.lock.Unlock(ctx))
	r.gone(time.Second, "as many Unlocks as Locks")
}

func TestRule3_LostRepliesOfNestedCommandsDoNotMiscount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	ctx := freshOwner(t)
	require.NoError(t, r.lock.Lock(ctx))
	for _, depth := range []string{"2", "3"} {
		r.proxy.CutAfterWrite(1, acquireScript)
		require.NoError(t, r.lock.Lock(ctx))
		_, count := r.field()
		assert.Equal(t, depth, count)
	}
	for _, depth := range []string{"2", "1"} {
		r.proxy.CutAfterWrite(1, releaseScript)
		require.NoError(t, r.lock.Unlock(ctx))
		_, count := r.field()
		assert.Equal(t, depth, count)
	}
	require.NoError(t, r.lock.Unlock(ctx))
	r.gone(time.Second, "as many Unlocks as Locks")
}

// A nested acquire on a key that is gone, or another's, is a loss: never a fresh hold that the outer levels know nothing of.
func TestRule3_ANestedAcquireNeverTakesALockAnew(t *testing.T) {
	t.Parallel()
	for name, rival := range map[string]bool{"gone": false, "another's": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ctx := freshOwner(t)
			require.NoError(t, r.lock.Lock(ctx))
			require.NoError(t, r.raw.Del(ctx, r.key).Err())
			if rival {
				require.NoError(t, r.rival.Lock(freshOwner(t)))
			}
			before := r.fields()
			require.ErrorIs(t, r.lock.Lock(ctx), rlock.ErrLost)
			assert.Equal(t, before, r.fields())
			require.ErrorIs(t, r.lock.Lock(ctx), rlock.ErrLost, "until the lost level is given back")
			require.ErrorIs(t, r.lock.Unlock(ctx), rlock.ErrLost)
			assert.Equal(t, before, r.fields(), "another's hold is untouched")
		})
	}
}

// A nested acquire is cancelled while it is under way and lands later: the count goes back to what the caller was told.
func TestRule3_ACancelledNestedAcquireLeavesTheCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	require.NoError(t, r.lock.Lock(ctx))
	r.proxy.HoldRequest(200*time.Millisecond, 1, acquireScript)
	nested, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.lock.Lock(nested), context.DeadlineExceeded)
	seen := r.proxy.Answered(acquireScript)
	r.eventually(func() bool { return r.proxy.Answered(acquireScript) > seen }, "it lands")
	r.eventually(func() bool { _, count := r.field(); return count == "1" }, "the count is settled")
	require.NoError(t, r.lock.Unlock(ctx))
	r.gone(time.Second, "one Unlock frees it")
}

func TestRule4_PassingRefusalsAreRetriedAndFinalOnesReturned(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script",
		"READONLY You can't write against a read only replica.", "TRYAGAIN Multiple keys request during rehashing of slot",
		"CLUSTERDOWN The cluster is down", "MASTERDOWN Link with MASTER is down", "NOSCRIPT No matching script.",
	} {
		t.Run(strings.Fields(refusal)[0], func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ctx := freshOwner(t)
			r.proxy.RefuseRequest("-"+refusal, 3, acquireScript)
			require.NoError(t, r.lock.Lock(ctx))
			r.proxy.RefuseRequest("-"+refusal, 3, releaseScript)
			require.NoError(t, r.lock.Unlock(ctx))
			r.gone(time.Second, "released")
		})
	}
	for _, refusal := range []string{"NOPERM this user has no permissions", "OOM command not allowed", "WRONGTYPE Operation"} {
		t.Run(strings.Fields(refusal)[0], func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.warm()
			ctx := freshOwner(t)
			r.proxy.RefuseRequest("-"+refusal, 1, acquireScript)
			before := r.proxy.Seen(acquireScript)
			require.ErrorContains(t, r.lock.Lock(ctx), refusal)
			assert.Equal(t, before, r.proxy.Seen(acquireScript), "not tried again")
			r.free(time.Second, "nothing is left behind")
		})
	}
}

// Nothing is answered for as long as the budget lasts: the answer is the transport's error, and never "taken".
func TestRule4_BeyondTheBudgetTheAnswerIsTheTransports(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithRetryBudget(600*time.Millisecond))
	r.warm()
	r.proxy.BlackHole(true)
	began := time.Now()
	ok, err := r.lock.TryLock(freshOwner(t))
	require.Error(t, err)
	assert.False(t, ok)
	assert.NotErrorIs(t, err, rlock.ErrNotAcquired)
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.ErrorContains(t, err, r.key)
	assert.Less(t, time.Since(began), 5*time.Second)
}

func TestRule5_AReleaseWhoseReplyIsLostIsASuccess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	ctx := freshOwner(t)
	require.NoError(t, r.lock.Lock(ctx))
	r.proxy.CutAfterWrite(1, releaseScript)
	require.NoError(t, r.lock.Unlock(ctx))
	require.ErrorIs(t, r.lock.Unlock(ctx), rlock.ErrNotHeld)
	r.free(time.Second, "released")
}

// The first attempt never reached the server, and meanwhile the key was deleted: the second attempt finds nothing. The first
// may have released it, so the answer is nil; a release that finds nothing at its first attempt is a loss.
func TestRule5_NotHeldIsASuccessOnlyAfterAnAttemptInDoubt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	ctx := freshOwner(t)
	require.NoError(t, r.lock.Lock(ctx))
	require.NoError(t, r.raw.Del(ctx, r.key).Err())
	err := r.lock.Unlock(ctx)
	require.ErrorIs(t, err, rlock.ErrLost)
	require.ErrorIs(t, err, rlock.ErrNotHeld)

	require.NoError(t, r.lock.Lock(ctx))
	require.NoError(t, r.lock.Lock(ctx))
	require.NoError(t, r.raw.Del(ctx, r.key).Err())
	r.proxy.CutAfterWrite(1, releaseScript)
	require.ErrorIs(t, r.lock.Unlock(ctx), rlock.ErrLost, "an inner release cannot have removed the field, so it was lost")
	require.ErrorIs(t, r.lock.Unlock(ctx), rlock.ErrLost)
}

// The hold is given back in time, but the server cannot serve now. The next attempt is sent after the deadline, and its answer
// is lost. When the one after that finds nothing, nobody knows whether it was released or lost: it counts as lost.
func TestRule5_AnAttemptAfterTheDeadlineProvesNothing(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second // within the retry budget
	r := newRig(t)
	r.warm()
	var clock, releases atomic.Int64
	rdb := redis.NewClient(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: answerTime})
	t.Cleanup(func() { _ = rdb.Close() })
	l := newClient(t, rdb, rlock.WithWatchdogTimeout(lease), rlock.WithClock(func() time.Duration {
		return time.Duration(clock.Load())
	})).NewLock(r.key)
	ctx := freshOwner(t)
	require.NoError(t, l.Lock(ctx))
	r.proxy.RefuseRequest("-LOADING Redis is loading the dataset in memory", 1, releaseScript)
	rdb.AddHook(ears{func(cmd redis.Cmder) {
		if !slices.Contains(cmd.Args(), any(rlock.ChannelOf(r.key))) {
			return
		}
		switch releases.Add(1) {
		case 1:
			clock.Store(int64(lease))
		case 2:
			r.proxy.CutAfterWrite(1, releaseScript)
		}
	}})
	err := l.Unlock(ctx)
	require.EqualValues(t, 3, releases.Load())
	require.ErrorIs(t, err, rlock.ErrLost)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	assert.Empty(t, r.fields())
}

// After the deadline the answer is ErrLost, although the key is still there; it is given back all the same.
func TestRule5_AfterTheDeadlineTheHoldIsLostAndItsKeyGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	h, err := r.lock.Acquire(ctx, rlock.Lease(3*time.Second))
	require.NoError(t, err)
	<-h.Context().Done()
	require.NotEmpty(t, r.fields(), "the margin is the difference")
	require.ErrorIs(t, h.Release(ctx), rlock.ErrLost)
	r.gone(200*time.Millisecond, "sooner than its lease")
}

// The release overtakes the acquire: it finds nothing, and only then the acquire lands. "Not held" is no end.
func TestRule6_AGiveBackThatOvertakesItsAcquireIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	r.proxy.HoldRequest(500*time.Millisecond, 1, acquireScript)
	ctx, cancel := context.WithTimeout(freshOwner(t), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.lock.Lock(ctx), context.DeadlineExceeded)
	answered := r.proxy.Answered(acquireScript)
	r.eventually(func() bool { return r.proxy.Answered(acquireScript) > answered }, "the acquire lands")
	r.gone(3*time.Second, "and is given back, far sooner than its lease of 30s")
	assert.Zero(t, r.proxy.Seen(renewScript), "it was never renewed")
	r.idle(5 * time.Second)
}

// A server out of memory refuses new holds with nothing half done, and still renews and releases.
func TestRule7_OutOfMemoryRefusesNothingThatGivesBack(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.Config("maxmemory-policy", "noeviction"))
	r := newRigOn(t, srv, rlock.WithWatchdogTimeout(900*time.Millisecond))
	ctx := freshOwner(t)
	h, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	require.NoError(t, r.lock.Lock(ctx))
	require.NoError(t, r.raw.ConfigSet(ctx, "maxmemory", "1").Err())
	require.ErrorContains(t, r.client.NewLock("other").Lock(ctx), "OOM")
	assert.Zero(t, r.raw.Exists(ctx, "other").Val())
	renewed := r.proxy.Answered(renewScript)
	r.eventually(func() bool { return r.proxy.Answered(renewScript) >= renewed+4 }, "renewed for longer than a lease")
	require.True(t, h.Held())
	require.NoError(t, r.lock.Unlock(ctx))
	_, count := r.field()
	assert.Equal(t, "1", count)
	require.NoError(t, h.Release(ctx))
	r.gone(time.Second, "released")
}

// A user who may touch the lock's key and its channel, and nothing else, can do everything; one who may not publish can
// still release.
func TestRule8_NoKeyButTheLocksOwn(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	ctx := freshOwner(t)
	key := t.Name()
	for name, c := range map[string]struct{ channel string }{"publishes": {"&" + rlock.ChannelOf(key)}, "mute": {"resetchannels"}} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, srv.Raw(t).Do(ctx, "ACL", "SETUSER", name, "reset", "on", ">secret", "~"+key, c.channel,
				"+evalsha", "+eval", "+hget", "+hincrby", "+hdel", "+hexists", "+hkeys", "+hgetall", "+exists", "+pexpire", "+pttl",
				"+publish", "+time", "+subscribe", "+unsubscribe", "+ping", "+hello", "+client").Err())
			l := limitedClient(t, srv, name).NewLock(key)
			require.NoError(t, l.Lock(ctx))
			require.NoError(t, l.Lock(ctx))
			require.NoError(t, l.Unlock(ctx))
			require.NoError(t, l.Unlock(ctx))
			require.NoError(t, l.Lock(ctx))
			_, err := l.State(ctx)
			require.NoError(t, err)
			ok, err := l.ForceUnlock(ctx)
			require.NoError(t, err)
			require.True(t, ok)
			require.Zero(t, srv.Raw(t).Exists(ctx, key).Val())
		})
	}
}

// A short level in a long one proves less, but takes nothing away.
func TestRule9_TheDeadlineIsTheLatestThatIsProven(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	outer, err := r.lock.Acquire(ctx, rlock.Lease(time.Minute))
	require.NoError(t, err)
	inner, err := r.lock.Acquire(ctx, rlock.Lease(200*time.Millisecond))
	require.NoError(t, err)
	assert.Greater(t, time.Until(outer.ValidUntil()), 50*time.Second)
	passed(400 * time.Millisecond)
	assert.True(t, outer.Held(), "a false alarm")
	require.NoError(t, inner.Release(ctx))
	require.NoError(t, outer.Release(ctx))
}

// The grant is there, but the answer takes longer than the lease: nobody may take it for a hold.
func TestRule9_AnAnswerAfterItsOwnDeadlineIsNoGrant(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	r.proxy.DelayReplies(250*time.Millisecond, acquireScript)
	h, err := r.lock.TryAcquire(freshOwner(t), rlock.Lease(200*time.Millisecond), rlock.Wait(time.Second))
	require.Error(t, err)
	require.Nil(t, h)
	assert.NotErrorIs(t, err, rlock.ErrNotAcquired, "nobody else had it")
	r.gone(2*time.Second, "nothing is left")
}

func TestRule10_NoCommandShortensTheLease(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	require.NoError(t, r.lock.Lock(ctx, rlock.Lease(time.Hour)))
	require.NoError(t, r.lock.Lock(ctx, rlock.Lease(time.Second)))
	assert.Greater(t, r.ttl(), 59*time.Minute)
	require.NoError(t, r.lock.Lock(ctx)) // the watchdog's lease is shorter too
	assert.Greater(t, r.ttl(), 59*time.Minute)
	require.NoError(t, r.lock.Unlock(ctx))
	require.NoError(t, r.lock.Unlock(ctx))
	assert.Greater(t, r.ttl(), 59*time.Minute)
	require.NoError(t, r.lock.Unlock(ctx))
}

// While a level is renewed, a long lease inside it does not outlive a crash. When the renewed one goes, the lease is raised.
func TestRule10_ALongInnerLeaseIsAskedForWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	outer, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	require.NoError(t, r.lock.Lock(ctx, rlock.Lease(time.Hour)))
	assert.LessOrEqual(t, r.ttl(), 30*time.Second)
	require.NoError(t, outer.Release(ctx))
	assert.Greater(t, r.ttl(), 59*time.Minute)
	require.NoError(t, r.lock.Unlock(ctx))
}

// The release that raises the lease cannot be delivered: the renewal goes on until the lease is confirmed by another way.
func TestRule10_RenewalGoesOnUntilTheRaiseIsConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(900*time.Millisecond), rlock.WithRetryBudget(200*time.Millisecond))
	ctx := freshOwner(t)
	outer, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	require.NoError(t, r.lock.Lock(ctx, rlock.Lease(time.Minute)))
	inner, ok := r.lock.Held(ctx)
	require.True(t, ok)
	r.proxy.RefuseRequest("-LOADING Redis is loading the dataset in memory", faultproxy.Every, releaseScript)
	require.ErrorContains(t, outer.Release(ctx), "LOADING")
	r.eventually(func() bool { return r.ttl() > 30*time.Second }, "the raise comes with a renewal")
	assert.True(t, inner.Held())
	r.proxy.Heal()
	r.eventually(func() bool { _, count := r.field(); return count == "1" }, "the count is settled")
	require.NoError(t, r.lock.Unlock(ctx))
}

// The field is gone: the renewal says so, touches nothing, and is the last one.
func TestRule11_ARenewalNeverTouchesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithWatchdogTimeout(900*time.Millisecond))
	ctx := freshOwner(t)
	h, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	require.NoError(t, r.raw.Del(ctx, r.key).Err())
	require.NoError(t, r.raw.HSet(ctx, r.key, "somebody:1", 1).Err())
	require.NoError(t, r.raw.PExpire(ctx, r.key, time.Hour).Err())
	<-h.Context().Done()
	require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
	assert.Equal(t, map[string]string{"somebody:1": "1"}, r.fields())
	assert.Greater(t, r.ttl(), 59*time.Minute)
	seen := r.proxy.Seen(renewScript)
	passed(900 * time.Millisecond)
	assert.Equal(t, seen, r.proxy.Seen(renewScript), "no renewal after the loss")
	require.ErrorIs(t, h.Release(ctx), rlock.ErrLost)
	assert.Equal(t, map[string]string{"somebody:1": "1"}, r.fields())
}

// A forced unlock that the network repeats meets a later hold, of the same owner even, and does it no harm.
func TestRule16_ARepeatedForceUnlockCannotTouchALaterHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	require.NoError(t, r.rival.Lock(ctx))
	r.proxy.RepeatRequest(200*time.Millisecond, 1, forceScript)
	ok, err := r.lock.ForceUnlock(ctx)
	require.NoError(t, err)
	require.True(t, ok)
	require.ErrorIs(t, r.rival.Unlock(ctx), rlock.ErrLost)
	require.NoError(t, r.rival.Lock(ctx))
	seen := r.proxy.Seen(forceScript)
	r.eventually(func() bool { return r.proxy.Answered(forceScript) > seen }, "it is repeated")
	r.taken("the later hold stands")
	require.NoError(t, r.rival.Unlock(ctx))
}

// A forced unlock that arrives when its time is over removes nothing, not even the hold it was meant for.
func TestRule16_ALateForceUnlockIsVoid(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithRetryBudget(100*time.Millisecond))
	ctx := freshOwner(t)
	require.NoError(t, r.rival.Lock(ctx))
	_, err := r.lock.ForceUnlock(freshOwner(t)) // lets the proxy learn the script
	require.NoError(t, err)
	require.ErrorIs(t, r.rival.Unlock(ctx), rlock.ErrLost)
	require.NoError(t, r.rival.Lock(ctx))
	r.proxy.HoldRequest(2*time.Second, faultproxy.Every, forceScript)
	_, err = r.lock.ForceUnlock(ctx)
	require.Error(t, err)
	answered := r.proxy.Answered(forceScript)
	r.eventually(func() bool { return r.proxy.Answered(forceScript) > answered }, "it arrives")
	r.taken("the hold stands")
	require.NoError(t, r.rival.Unlock(ctx))
}

func TestRule16_LocalHoldsAreToldFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := freshOwner(t)
	h, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	r.proxy.HoldRequest(100*time.Millisecond, faultproxy.Every, forceScript)
	done := make(chan error, 1)
	go func() { _, err := r.lock.ForceUnlock(context.Background()); done <- err }()
	<-h.Context().Done()
	require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
	assert.NotEmpty(t, r.fields(), "the key is removed after the holder was told")
	require.NoError(t, <-done)
	r.gone(time.Second, "removed")
	require.ErrorIs(t, h.Release(ctx), rlock.ErrLost)
}
