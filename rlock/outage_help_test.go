package rlock_test

// What the tests of outages share: a server of the test's own, a Client with a direct line to it, and the attack that uses every
// verb while the server does not serve.

import (
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/pubsub"
	"github.com/rlock-go/rlock/rlock"
)

// outage keeps a server from serving for a while, its data kept.
type outage struct {
	server     []redistest.Option
	begin, end func(r *outageRig)
	says       string // the server's word in the answer of a verb that gives up; empty: it has none
}

// attack uses every verb in an outage that is shorter than the retry budget, and in one that is longer.
func (o *outage) attack(t *testing.T) {
	t.Helper()
	t.Parallel()
	t.Run("within the budget", func(t *testing.T) { t.Parallel(); o.within(t) })
	t.Run("beyond the budget", func(t *testing.T) { t.Parallel(); o.beyond(t) })
}

// within: the verbs take longer and that is all, a hold whose renewal falls into the outage is kept, and the counts in Redis
// are those that the callers were told, although requests may have been made twice or come late.
func (o *outage) within(t *testing.T) {
	t.Helper()
	r := newOutageRig(t, o.server)
	keeper := r.directClient(rlock.WithWatchdogTimeout(4 * time.Second)).NewLock(r.key + ":kept")
	kept, err := keeper.Acquire(someone())
	require.NoError(t, err)
	verbs, waiter := r.verbs(), r.waiter()
	before := r.attempts()
	o.begin(r)
	answers := useAll(verbs)
	r.felt(verbs, before)
	o.end(r)
	for name, v := range verbs {
		require.NoError(t, (<-answers[name]).err, name)
		r.assertCount(name, v)
	}
	require.Empty(t, waiter, "it goes on waiting")
	require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
	require.NoError(t, inTime(t, 10*time.Second, waiter, "the waiter's look"))
	valid := kept.ValidUntil()
	r.eventually(func() bool { return kept.ValidUntil().Sub(valid) > 300*time.Millisecond }, "renewed")
	require.NoError(t, kept.Context().Err(), "a false alarm")
	require.NoError(t, kept.Release(t.Context()))
	for name, v := range verbs {
		require.NoError(t, v.undo(), name)
		if name != "state" { // which is somebody else's
			assert.Zero(t, levelsIn(t, r.raw, v.key), "%s: one give-back for each that was taken", name)
		}
	}
	r.settled()
}

// beyond: each verb answers with the reason, in the budget and one time-out, and never that the lock is taken or not held.
// What it was about is put right as soon as the server is back.
func (o *outage) beyond(t *testing.T) {
	t.Helper()
	const budget = 400 * time.Millisecond
	r := newOutageRig(t, o.server, rlock.WithRetryBudget(budget))
	verbs, waiter := r.verbs(), r.waiter()
	maps.Copy(verbs, r.hastyVerbs())
	late := watchStalls(t)
	o.begin(r)
	said := 0
	for name, answer := range useAll(verbs) {
		got := <-answer
		requireReason(t, name, got.err)
		if strings.Contains(got.err.Error(), o.says) {
			said++ // a busy machine may keep the server's word from the others in their last attempt
		}
		// go-redis dials five times, and a level stands behind the owner's other command; what matters is that it ends
		assert.Less(t, got.took, budget+answerTime+2*time.Second+4*late.late(), name)
	}
	assert.Positive(t, said, "nobody tells what the server said")
	requireReason(t, "waiter", inTime(t, 10*time.Second, waiter, "the waiter's look"))
	o.end(r)
	for name, v := range verbs {
		r.eventually(func() bool { return levelsIn(t, r.raw, v.key) == v.failed }, name+": put right")
	}
}

// assertCount: the lock is held as often as its caller was told.
func (r *outageRig) assertCount(name string, v verb) {
	r.t.Helper()
	levels := levelsIn(r.t, r.raw, v.key)
	if v.told != nil {
		assert.Positive(r.t, levels, name)
		var err error
		levels, err = v.told()
		assert.NoError(r.t, err, name)
	}
	assert.Equal(r.t, v.done, levels, "%s: what its caller was told", name)
}

// requireReason: the answer is about Redis, and not about a lock of which nobody knows anything.
func requireReason(t *testing.T, name string, err error) {
	t.Helper()
	require.Error(t, err, name)
	for _, wrong := range []error{errTaken, rlock.ErrNotAcquired, rlock.ErrNotHeld, rlock.ErrClosed} {
		require.NotErrorIs(t, err, wrong, name)
	}
}

// settled waits until the Client knows nothing any more but what an outage left in doubt: for that it asks for a whole lease.
func (r *outageRig) settled() {
	r.t.Helper()
	r.eventually(func() bool {
		left := r.client.Leftovers()
		left.Orphans = 0
		return left == rlock.Leftovers{}
	}, "the client still knows something")
}

// outageRig has a Client with a direct line to a server of its own, and counts what it sends.
type outageRig struct {
	*rig
	operator *redis.Client // one connection, which stays

	mu   sync.Mutex
	sent map[string]int // by key: the scripts that were about to be sent
}

func newOutageRig(t *testing.T, server []redistest.Option, opts ...rlock.Option) *outageRig {
	t.Helper()
	r := &outageRig{rig: newRigOn(t, redistest.Start(t, server...)), sent: map[string]int{}}
	r.client, r.rival = r.directClient(opts...), r.directClient().NewLock(r.key)
	r.lock = r.client.NewLock(r.key)
	r.operator = r.srv.Client(t, func(o *redis.Options) {
		o.PoolSize, o.MaxRetries, o.DialerRetries, o.ReadTimeout = 1, -1, 1, time.Minute
	})
	r.do("PING")
	return r
}

// directClient makes a Client that does without the proxy.
func (r *outageRig) directClient(opts ...rlock.Option) *rlock.Client {
	r.t.Helper()
	return r.clientOf(func(*redis.Options) {}, opts...)
}

// userClient is directClient for a user whose password is "secret".
func (r *outageRig) userClient(user string, opts ...rlock.Option) *rlock.Client {
	r.t.Helper()
	return r.clientOf(func(o *redis.Options) { o.Username, o.Password = user, "secret" }, opts...)
}

func (r *outageRig) clientOf(change func(*redis.Options), opts ...rlock.Option) *rlock.Client {
	r.t.Helper()
	options := &redis.Options{
		Addr: r.srv.Addr(), TLSConfig: r.srv.TLSConfig(),
		DialerRetries: 1, DialTimeout: answerTime, ReadTimeout: answerTime, WriteTimeout: answerTime,
	}
	change(options)
	rdb := redis.NewClient(options)
	rdb.AddHook(ears{r.count})
	c, err := rlock.New(rdb, append([]rlock.Option{
		rlock.WithLogger(slog.New(slog.DiscardHandler)), rlock.WithFallbackLook(500 * time.Millisecond),
		rlock.WithHub(pubsub.Config{Linger: 50 * time.Millisecond, Ping: 300 * time.Millisecond, Retry: 300 * time.Millisecond}),
	}, opts...)...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = c.Close(ended()); _ = rdb.Close() })
	return c
}

// count files a script by its key, which stands behind the number of keys.
func (r *outageRig) count(cmd redis.Cmder) {
	if cmd.Name() != "evalsha" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[cmd.Args()[3].(string)]++
}

func (r *outageRig) attempts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.sent)
}

// felt waits until each verb has been tried in vain, and the renewal of the hold that is to be kept.
func (r *outageRig) felt(verbs map[string]verb, before map[string]int) {
	r.t.Helper()
	for name, v := range verbs {
		r.eventually(func() bool { return r.attempts()[v.key] >= before[v.key]+2 }, name+": tried again")
	}
	kept := r.key + ":kept"
	r.eventually(func() bool { return r.attempts()[kept] > before[kept] }, "a renewal was due")
}

// do has the operator say something.
func (r *outageRig) do(words ...any) {
	r.t.Helper()
	require.NoError(r.t, r.operator.Do(r.t.Context(), words...).Err())
}

// says waits until the server answers a ping like this.
func (r *outageRig) says(word string) {
	r.t.Helper()
	r.eventually(func() bool {
		answer, err := r.operator.Ping(r.t.Context()).Result()
		if err != nil {
			answer = err.Error()
		}
		return strings.HasPrefix(answer, word)
	}, "it says "+word)
}

// foreign puts a hold of somebody else's in Redis.
func (r *outageRig) foreign(key string) {
	r.t.Helper()
	require.NoError(r.t, r.raw.HSet(r.t.Context(), key, "somebody:1", 1).Err())
	require.NoError(r.t, r.raw.PExpire(r.t.Context(), key, time.Minute).Err())
}
