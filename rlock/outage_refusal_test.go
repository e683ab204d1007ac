package rlock_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// P2, P3, P5, P8: an operator pauses all clients. Nothing is answered, new connections included, until the time that the
// operator named is over: not even CLIENT UNPAUSE.
func TestOutage_ClientsPaused_VerbsGoOnOrSaySo(t *testing.T) {
	(&outage{
		begin: func(r *outageRig) { r.do("CLIENT", "PAUSE", 2000, "ALL") },
		end:   func(r *outageRig) { r.do("CLIENT", "UNPAUSE") },
	}).attack(t)
}

// P2, P3, P5, P8: an operator pauses writes, to which scripts belong. Connections work, and pings.
func TestOutage_WritesPaused_VerbsGoOnOrSaySo(t *testing.T) {
	(&outage{
		begin: func(r *outageRig) { r.do("CLIENT", "PAUSE", 60_000, "WRITE") },
		end:   func(r *outageRig) { r.do("CLIENT", "UNPAUSE") },
	}).attack(t)
}

// P2, P3, P5, P8: a script of somebody else runs on and on. Every command is refused with BUSY, after a while in which the
// server is silent.
func TestOutage_AScriptKeepsRedisBusy_VerbsGoOnOrSaySo(t *testing.T) {
	(&outage{
		server: []redistest.Option{redistest.Config("lua-time-limit", "50")},
		begin:  (*outageRig).keepBusy,
		end:    func(r *outageRig) { r.do("SCRIPT", "KILL"); r.says("PONG") }, // it dies a moment later
		says:   "BUSY",
	}).attack(t)
}

// P2, P3, P5, P8: the server restarts and has much to load.
func TestOutage_RedisLoads_VerbsGoOnOrSaySo(t *testing.T) {
	redistest.RequireVersion(t, 7, 0) // older ones hardly answer while they load
	(&outage{
		server: slowToLoad,
		begin:  (*outageRig).loadSlowly,
		end:    func(r *outageRig) { r.do("CONFIG", "SET", "key-load-delay", 0); r.says("PONG") },
		says:   "LOADING",
	}).attack(t)
}

// P2, P3, P5, P8: the master is made a replica, and a master again. It has the data, and may not say anything with them.
func TestOutage_MasterDemoted_VerbsGoOnOrSaySo(t *testing.T) {
	(&outage{
		begin: func(r *outageRig) { r.do("REPLICAOF", "127.0.0.1", 1) },
		end:   func(r *outageRig) { r.do("REPLICAOF", "NO", "ONE") },
		says:  "READONLY",
	}).attack(t)
}

// P2, P3, P5, P8: the same with a replica that does not show stale data.
func TestOutage_MasterDemotedAndShy_VerbsGoOnOrSaySo(t *testing.T) {
	(&outage{
		server: []redistest.Option{redistest.Config("replica-serve-stale-data", "no")},
		begin:  func(r *outageRig) { r.do("REPLICAOF", "127.0.0.1", 1) },
		end:    func(r *outageRig) { r.do("REPLICAOF", "NO", "ONE") },
		says:   "MASTERDOWN",
	}).attack(t)
}

// slowToLoad is a server that takes 2 s to load what loadSlowly puts into it, and answers meanwhile.
var slowToLoad = []redistest.Option{
	redistest.AppendOnly(), redistest.Config("key-load-delay", "1000"),
	redistest.Config("loading-process-events-interval-bytes", "1024"),
}

// keepBusy runs a script that does not end by itself, until the server refuses all else.
func (r *outageRig) keepBusy() {
	r.t.Helper()
	other := r.srv.Client(r.t, func(o *redis.Options) { o.ReadTimeout = time.Minute })
	outcome(func() error { return other.Eval(r.t.Context(), "while true do end", nil).Err() })
	r.says("BUSY")
}

// loadSlowly restarts the server, which has much to load, and returns while it does.
func (r *outageRig) loadSlowly() {
	r.t.Helper()
	r.do("EVAL", "for i = 1, 3000 do redis.call('SET', 'filling:' .. i, i) end return 'OK'", 0)
	r.do("BGREWRITEAOF")
	r.eventually(func() bool {
		return strings.Contains(r.operator.Info(r.t.Context(), "persistence").Val(), "aof_rewrite_in_progress:0")
	}, "all is in the file that takes time to load")
	r.srv.Stop()
	loaded := outcome(func() error { r.srv.Restart(true); return nil })
	r.t.Cleanup(func() { require.NoError(r.t, <-loaded) })
	r.says("LOADING")
}

// P2, P3, P6: a server that is out of memory refuses to take a lock, or a level more, and says so at once. It goes on renewing
// and giving back, wakes waiters, and a refusal leaves nothing to clear up; a waiter whose turn comes then is told.
func TestOutage_OutOfMemory_RefusesToTakeAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, []redistest.Option{redistest.Config("maxmemory-policy", "noeviction")},
		rlock.WithWatchdogTimeout(3*time.Second))
	holder, fixed := someone(), r.client.NewLock(r.key+":fixed")
	require.NoError(t, r.lock.Lock(holder))
	require.NoError(t, r.lock.Lock(holder))
	h, err := fixed.Acquire(someone(), rlock.Lease(10*time.Second))
	require.NoError(t, err)
	waiter := outcome(func() error { return r.lock.Lock(someone()) })
	r.asleep(1)
	r.do("CONFIG", "SET", "maxmemory", 1)
	r.do("SCRIPT", "FLUSH")

	for op, err := range acquireByEveryVerb(r.client.NewLock(r.key+":new"), someone()) {
		requireComplaint(t, err, op, r.key+":new", "OOM")
		require.NotErrorIs(t, err, rlock.ErrNotAcquired, op)
	}
	require.ErrorContains(t, r.lock.Lock(holder), "OOM", "a level more")
	assert.Equal(t, 2, levelsIn(t, r.raw, r.key))
	assert.Zero(t, r.client.Leftovers().Orphans, "a refusal leaves nothing behind")

	shown, held := r.lock.Held(holder)
	require.True(t, held)
	valid := shown.ValidUntil()
	r.eventually(func() bool { return shown.ValidUntil().Sub(valid) > 1500*time.Millisecond }, "renewed twice")
	require.NoError(t, h.Extend(t.Context(), time.Minute))
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, r.lock.Unlock(holder))
	assert.Equal(t, 1, levelsIn(t, r.raw, r.key))
	require.NoError(t, r.lock.Unlock(holder))
	require.ErrorContains(t, inTime(t, 10*time.Second, waiter, "the waiter's turn"), "OOM")
	r.do("CONFIG", "SET", "maxmemory", 0)
	r.free(10*time.Second, "nothing is left")
	requireNothingLeft(t, r.client)
}

// P4, P5, P7: a master is demoted, and its data are replaced by those of its new master, which knows of no lock. Its word is
// worth nothing: no hold is lost by it, no lock is free or taken. When it is the master again, its word counts.
func TestOutage_ReplicaWithoutTheData_ProvesNothing(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, nil, rlock.WithWatchdogTimeout(6*time.Second), rlock.WithRetryBudget(100*time.Millisecond))
	other := redistest.Start(t, redistest.Config("repl-diskless-sync-delay", "0"))
	fixed, ctx := r.client.NewLock(r.key+":fixed"), someone()
	h, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	looked, err := fixed.Acquire(ctx, rlock.Lease(time.Minute))
	require.NoError(t, err)
	taken := r.client.NewLock(r.key + ":taken")
	require.NoError(t, other.Raw(t).HSet(ctx, taken.Name(), "somebody:1", 1).Err())

	r.do("REPLICAOF", "127.0.0.1", other.Port())
	r.eventually(func() bool { return r.raw.Exists(ctx, r.key).Val() == 0 && r.raw.Exists(ctx, taken.Name()).Val() == 1 }, "replaced")
	before := r.attempts()
	r.eventually(func() bool {
		now := r.attempts()
		return now[r.key] > before[r.key] && now[fixed.Name()] > before[fixed.Name()]
	}, "renewals")
	require.NoError(t, h.Context().Err())
	require.NoError(t, looked.Context().Err())
	for op, err := range map[string]error{
		"nested": r.lock.Lock(ctx), "extend": looked.Extend(ctx, time.Minute), "taken": orTaken(taken.TryLock(ctx)),
		"state": lastOf(r.lock.State(ctx)), "force": lastOf(r.lock.ForceUnlock(ctx)),
	} {
		require.ErrorContains(t, err, "READONLY", op)
	}
	require.True(t, h.Held())
	r.do("REPLICAOF", "NO", "ONE")
	requireEnd(t, h.Context())
	requireEnd(t, looked.Context())
	for _, told := range []*rlock.Hold{h, looked} {
		require.ErrorIs(t, context.Cause(told.Context()), rlock.ErrLost)
		assert.ErrorContains(t, context.Cause(told.Context()), "the server no longer knows")
	}
}

// P7: waiters sleep at a master that is demoted and does not hear from the new one. The lock, as it knows it, is taken for an
// hour. They do not wait that hour: what it says does not count, and as soon as it says the truth again they go on.
func TestOutage_WaitersAtADemotedMaster_DoNotBelieveIt(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, nil, rlock.WithRetryBudget(300*time.Millisecond))
	require.NoError(t, r.raw.HSet(t.Context(), r.key, "somebody:1", 1).Err())
	require.NoError(t, r.raw.PExpire(t.Context(), r.key, time.Hour).Err())
	waiter := outcome(func() error { return r.lock.Lock(someone()) })
	r.asleep(1)
	r.do("REPLICAOF", "127.0.0.1", 1)
	require.ErrorContains(t, inTime(t, 10*time.Second, waiter, "the next look"), "READONLY")
}

// P2, P6, P7: the server forgets the scripts all the time, between any two commands. Nobody notices.
func TestOutage_ScriptsFlushed_NobodyNotices(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, nil, rlock.WithWatchdogTimeout(1500*time.Millisecond))
	flusher := r.srv.Raw(t)
	end := mishaps(time.Millisecond, func() { _ = flusher.ScriptFlush(context.Background()) })
	defer end()
	for range 5 {
		for name, v := range r.verbs() {
			require.NoError(t, v.use(), name)
			r.assertCount(name, v)
			require.NoError(t, v.undo(), name)
			require.NoError(t, r.raw.Del(t.Context(), v.key).Err())
		}
	}
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	waiter := outcome(func() error { return r.rival.Lock(someone()) })
	valid := h.ValidUntil()
	r.eventually(func() bool { return h.ValidUntil().Sub(valid) > time.Second }, "renewed twice")
	require.NoError(t, h.Context().Err())
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, inTime(t, 10*time.Second, waiter, "woken"))
	requireNothingLeft(t, r.client)
}

func lastOf[T any](_ T, err error) error { return err }

// P5, P7: the address of the master comes to mean another server, which has the data; the old one lives on as a replica that
// hears of nothing, and its connections with it. Renewals, new locks and sleepers follow: READONLY is the sign to dial again.
func TestOutage_MasterMoves_ClientsFollow(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, []redistest.Option{redistest.Config("repl-diskless-sync-delay", "0")})
	next := redistest.Start(t)
	var addr atomic.Value
	addr.Store(r.srv.Addr())
	client := r.clientOf(func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr.Load().(string))
		}
	}, rlock.WithWatchdogTimeout(6*time.Second))
	ctx, waited := someone(), client.NewLock(r.key+":waited for")
	h, err := client.NewLock(r.key).Acquire(ctx)
	require.NoError(t, err)
	r.do("HSET", waited.Name(), "somebody:1", 1)
	raw := next.Raw(t)
	require.NoError(t, raw.Do(ctx, "REPLICAOF", "127.0.0.1", r.srv.Port()).Err())
	r.eventually(func() bool { return raw.Exists(ctx, r.key, waited.Name()).Val() == 2 }, "replicated")
	waiter := outcome(func() error { return waited.Lock(someone()) })
	r.eventually(func() bool { return client.Leftovers().Channels == 1 }, "waiting")

	r.do("REPLICAOF", "127.0.0.1", 1)
	require.NoError(t, raw.Do(ctx, "REPLICAOF", "NO", "ONE").Err())
	addr.Store(next.Addr())
	require.NoError(t, raw.Del(ctx, waited.Name()).Err())
	require.NoError(t, inTime(t, 10*time.Second, waiter, "its look"))
	valid := h.ValidUntil()
	r.eventually(func() bool { return h.ValidUntil().Sub(valid) > 300*time.Millisecond }, "renewed there")
	require.NoError(t, h.Context().Err(), "a false alarm")
	require.NoError(t, client.NewLock(r.key+":new").Lock(ctx))
	require.NoError(t, h.Release(ctx))
	assert.Zero(t, levelsIn(t, raw, r.key))
}
