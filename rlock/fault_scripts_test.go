package rlock_test

import (
	"context"
	"fmt"
	"net"
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

// P2, P5, P6, P7, P8: the server forgets all scripts before every single command: of an acquire, a level, a renewal, a look, an
// unlock that has to wake somebody, a forced one. Each of them is sent once more with its text, and no more than that.
func TestFault_C1_EveryCommandMeetsAServerThatForgot(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	var short, long atomic.Int32
	forgetful := func() *rlock.Lock {
		rdb := srv.Client(t)
		rdb.AddHook(ears{func(cmd redis.Cmder) {
			assert.NoError(t, raw.ScriptFlush(context.Background()).Err())
			switch cmd.Name() {
			case "evalsha":
				short.Add(1)
			case "eval":
				long.Add(1)
			}
		}})
		return newClient(t, rdb, rlock.WithWatchdogTimeout(time.Second)).NewLock(t.Name())
	}
	lock, rival, ann, bob := forgetful(), forgetful(), someone(), someone()
	for depth := range 3 {
		require.NoError(t, lock.Lock(ann))
		require.Equal(t, depth+1, levelsIn(t, raw, t.Name()))
	}
	hold, _ := lock.Held(ann)
	taken, err := rival.TryLock(bob)
	require.NoError(t, err)
	require.False(t, taken)
	got := outcome(func() error { return rival.Lock(bob) })
	before := hold.ValidUntil()
	eventually(t, func() bool { return hold.ValidUntil().Sub(before) > 500*time.Millisecond }, "renewed, twice at least")
	for range 3 {
		require.NoError(t, lock.Unlock(ann))
	}
	require.NoError(t, inTime(t, 10*time.Second, got, "the waiter"))
	removed, err := lock.ForceUnlock(ann)
	require.NoError(t, err)
	require.True(t, removed)
	requireLoss(t, rival.Unlock(bob))
	assert.Zero(t, raw.Exists(ann, t.Name()).Val())
	eventually(t, func() bool { return short.Load() == long.Load() }, "each text follows its digest, once")
}

// P3, P8: something in between says NOSCRIPT to everything, the text included. The callers hear of it within their budget, after
// few commands, and when it stops all is as they were told.
func TestFault_C1_NoScriptWithoutEndIsNotAskedWithoutEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, rlock.WithRetryBudget(400*time.Millisecond))
	r.warm()
	ann := someone()
	refuse := func(script faultproxy.Match) {
		r.proxy.RefuseRequest("-NOSCRIPT No matching script.", faultproxy.Every, script)
	}
	refuse(acquireScript)
	before := r.proxy.Received(acquireScript)
	err := r.lock.Lock(ann)
	require.ErrorContains(t, err, "NOSCRIPT")
	assert.NotErrorIs(t, err, rlock.ErrNotAcquired)
	assert.LessOrEqual(t, r.proxy.Received(acquireScript)-before, 20, "two for each attempt, and the pauses grow")

	r.proxy.Heal()
	require.NoError(t, r.lock.Lock(ann))
	refuse(releaseScript)
	require.ErrorContains(t, r.lock.Unlock(ann), "NOSCRIPT")
	r.proxy.Heal()
	r.gone(10*time.Second, "given back in the background")
	r.idle(10 * time.Second)
}

// P2, P5, P6: the master goes, and the replica that takes over has never seen a script. What was held is held, to the level.
func TestFault_C1_AHoldOutlivesAFailoverToANodeWithoutScripts(t *testing.T) {
	t.Parallel()
	old, next := redistest.Start(t, redistest.Config("repl-diskless-sync-delay", "0")), redistest.Start(t)
	heir := next.Raw(t)
	require.NoError(t, heir.Do(t.Context(), "REPLICAOF", "127.0.0.1", old.Port()).Err())
	var master atomic.Value
	master.Store(old.Addr())
	rdb := old.Client(t, func(o *redis.Options) {
		o.ReadTimeout = answerTime
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, master.Load().(string))
		}
	})
	lock, ann := newClient(t, rdb, rlock.WithWatchdogTimeout(3*time.Second)).NewLock(t.Name()), someone()
	eventually(t, func() bool { return strings.Contains(heir.Info(t.Context(), "replication").Val(), "link_status:up") }, "in sync")
	require.NoError(t, lock.Lock(ann))
	require.NoError(t, lock.Lock(ann))
	hold, _ := lock.Held(ann)
	told := hold.Context()
	eventually(t, func() bool { return levelsIn(t, heir, t.Name()) == 2 }, "replicated")

	require.NoError(t, heir.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	require.Equal(t, "0", cachedScripts(t, heir))
	master.Store(next.Addr())
	old.Kill()
	require.NoError(t, lock.Lock(ann))
	assert.Equal(t, 3, levelsIn(t, heir, t.Name()))
	before := hold.ValidUntil()
	eventually(t, func() bool { return hold.ValidUntil().After(before) }, "renewed")
	require.NoError(t, told.Err(), "a false alarm")
	for range 3 {
		require.NoError(t, lock.Unlock(ann))
	}
	assert.Zero(t, heir.Exists(ann, t.Name()).Val())
}

// P2: each script runs, and the line is cut before its answer. It is tried again, as the script that it was and by its digest:
// only NOSCRIPT proves that nothing ran. What it did is done once: the counts, the message to the waiters, the holder removed.
func TestFault_C2_NothingButNoScriptIsAnsweredWithTheText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warmForce()
	ann, texts := someone(), r.proxy.Received(faultproxy.Command("eval"))
	cut := func(script faultproxy.Match, op func() error) {
		t.Helper()
		sent := r.proxy.Received(script)
		r.proxy.CutAfterWrite(1, script)
		require.NoError(t, op())
		require.GreaterOrEqual(t, r.proxy.Received(script)-sent, 2, "tried again")
	}
	for depth := range 2 {
		cut(acquireScript, func() error { return r.lock.Lock(ann) })
		require.Equal(t, depth+1, levelsIn(t, r.raw, r.key))
	}
	channel := r.raw.Subscribe(t.Context(), rlock.ChannelOf(r.key)) // now: the first acquire's orphan may have been freed
	defer channel.Close()
	_, err := channel.Receive(t.Context())
	require.NoError(t, err)
	cut(faultproxy.Script("read"), func() error { _, err := r.lock.State(ann); return err })
	cut(releaseScript, func() error { return r.lock.Unlock(ann) })
	require.Equal(t, 1, levelsIn(t, r.raw, r.key))
	cut(releaseScript, func() error { return r.lock.Unlock(ann) })
	r.gone(10*time.Second, "released")
	require.NoError(t, r.rival.Lock(ann))
	cut(forceScript, func() error { _, err := r.lock.ForceUnlock(ann); return err })
	r.gone(10*time.Second, "unlocked by force")
	requireLoss(t, r.rival.Unlock(ann))

	require.NoError(t, r.raw.Publish(t.Context(), rlock.ChannelOf(r.key), "end").Err())
	for range 2 { // the last Unlock's and the forced one's
		message, err := channel.ReceiveMessage(t.Context())
		require.NoError(t, err)
		require.Equal(t, "0", message.Payload)
	}
	message, err := channel.ReceiveMessage(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "end", message.Payload, "told twice")
	assert.Equal(t, texts, r.proxy.Received(faultproxy.Command("eval")))
}

// P2, P3: an error reply that is not NOSCRIPT is the answer. Nothing is sent after it, neither the text nor another attempt.
func TestFault_C2_AnErrorReplyIsFinal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	for _, reply := range []string{"ERR no NOSCRIPT this", "NOPERM not for you", "OOM command not allowed", "WRONGTYPE of key"} {
		before := r.proxy.Received(acquireScript)
		r.proxy.RefuseRequest("-"+reply, faultproxy.Every, acquireScript)
		err := r.lock.Lock(someone())
		require.ErrorContains(t, err, reply)
		require.NotErrorIs(t, err, rlock.ErrNotAcquired)
		require.Equal(t, 1, r.proxy.Received(acquireScript)-before, reply)
		r.proxy.Heal()
	}
	r.free(time.Second, "nothing is left behind")
}

// P5, P6: batches of renewals meet a server that forgot the script, and then one that refuses some of them: just those that were
// refused are sent with their text, and nobody loses anything.
func TestFault_C3_OfABatchOnlyWhatWasRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	const holds, refused, lease = 120, 7, 5 * time.Second // more than a pipeline takes
	r := newRigOn(t, redistest.Start(t), rlock.WithWatchdogTimeout(lease))
	all := make([]*rlock.Hold, holds)
	for i := range all {
		h, err := r.client.NewLock(fmt.Sprintf("%s:%d", r.key, i)).Acquire(someone())
		require.NoError(t, err)
		all[i] = h
	}
	renewed := func() {
		t.Helper()
		before := time.Now()
		eventually(t, func() bool {
			for _, h := range all {
				if h.ValidUntil().Before(before.Add(lease - rlock.Margin(lease))) {
					return false
				}
			}
			return true
		}, "all renewed")
	}
	texts := func() int { return r.proxy.Received(faultproxy.And(faultproxy.Command("eval"), renewScript)) }
	renewed() // the script is known now
	known := texts()
	require.NoError(t, r.raw.ScriptFlush(t.Context()).Err())
	renewed()
	forgot := texts()
	assert.Greater(t, forgot, known)
	assert.LessOrEqual(t, forgot-known, holds)
	r.proxy.RefuseRequest("-NOSCRIPT No matching script.", refused, faultproxy.And(faultproxy.Command("evalsha"), renewScript))
	renewed()
	assert.Equal(t, refused, texts()-forgot)
	for _, h := range all {
		require.NoError(t, h.Context().Err(), "a false alarm")
		require.NoError(t, h.Release(t.Context()))
	}
	r.idle(10 * time.Second)
}

// P1, P7, P11: two Clients with one prefix, and a third that says it in the name, mean one lock by one key and one channel; it is
// said once in both; and what the prefix is not in front of is another lock.
func TestFault_C9_ThePrefixIsPutInFrontOnce(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	for _, prefix := range []string{"shop:", "{shop}:", "shop:shop:"} {
		one := clientOf(t, srv, rlock.WithKeyPrefix(prefix)).NewLock("order")
		other := clientOf(t, srv, rlock.WithKeyPrefix(prefix)).NewLock("order")
		spelt := clientOf(t, srv).NewLock(prefix + "order")
		apart := clientOf(t, srv).NewLock("order")
		ann, bob, eve := someone(), someone(), someone()
		assert.Equal(t, "order", one.Name())
		require.NoError(t, one.Lock(ann))
		assert.Equal(t, []string{prefix + "order"}, raw.Keys(ann, "*").Val())
		for _, same := range []*rlock.Lock{other, spelt} {
			in, err := same.TryLock(bob)
			require.NoError(t, err)
			require.False(t, in, "two holders")
			state, err := same.State(bob)
			require.NoError(t, err)
			require.True(t, state.Locked)
		}
		require.NoError(t, apart.Lock(eve))
		require.NoError(t, apart.Unlock(eve))

		got := outcome(func() error { return spelt.Lock(bob) })
		channel := rlock.ChannelOf(prefix + "order")
		eventually(t, func() bool { return raw.PubSubNumSub(ann, channel).Val()[channel] == 1 }, "subscribed")
		require.NoError(t, one.Unlock(ann))
		require.NoError(t, inTime(t, 4*time.Second, got, "woken, by the message and not by the fallback look"))
		removed, err := other.ForceUnlock(ann)
		require.NoError(t, err)
		require.True(t, removed)
		requireLoss(t, spelt.Unlock(bob))
		require.Empty(t, raw.Keys(ann, "*").Val())
	}
}
