package rlock_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/pubsub"
	"github.com/rlock-go/rlock/rlock"
)

// rig is a Client behind a faulty network, a rival with a direct line, and a look at the server itself.
type rig struct {
	t      *testing.T
	srv    *redistest.Server
	proxy  *faultproxy.Proxy
	raw    *redis.Client
	client *rlock.Client
	lock   *rlock.Lock // of the Client behind the proxy
	rival  *rlock.Lock // the same lock, of another Client
	key    string
}

// answerTime is the read time-out of the Client behind the proxy: how long a lost reply costs.
const answerTime = 300 * time.Millisecond

// newRig uses the shared server; the lock is named after the test.
func newRig(t *testing.T, opts ...rlock.Option) *rig {
	t.Helper()
	return newRigOn(t, redistest.Shared(t), opts...)
}

func newRigOn(t *testing.T, srv *redistest.Server, opts ...rlock.Option) *rig {
	t.Helper()
	knowScripts(t)
	r := &rig{t: t, srv: srv, key: t.Name(), proxy: faultproxy.New(t, srv.Addr()), raw: srv.Raw(t)}
	r.client = r.newClient(r.proxy.Addr(), append([]rlock.Option{
		rlock.WithFallbackLook(500 * time.Millisecond),
		rlock.WithHub(pubsub.Config{Linger: 50 * time.Millisecond, Ping: 300 * time.Millisecond}),
	}, opts...)...)
	r.lock = r.client.NewLock(r.key)
	r.rival = r.newClient(srv.Addr()).NewLock(r.key)
	return r
}

// newClient makes a Client that is closed with the test, before its redis client.
func (r *rig) newClient(addr string, opts ...rlock.Option) *rlock.Client {
	r.t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: answerTime, WriteTimeout: answerTime})
	c, err := rlock.New(rdb, opts...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		r.proxy.Heal()
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what the test still holds runs out by its lease
		_ = c.Close(ctx)
		_ = rdb.Close()
	})
	return c
}

// knowScripts tells the proxies the digests of the scripts: a server that has met them before is not sent the text.
func knowScripts(t *testing.T) {
	t.Helper()
	for name, text := range scripts(t) {
		sum := sha1.Sum([]byte(text))
		faultproxy.KnowScript(hex.EncodeToString(sum[:]), name)
	}
}

// scripts are the texts of all scripts by their names.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../lua/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[strings.TrimSuffix(filepath.Base(file), ".lua")] = string(text)
	}
	return texts
}

// fields is what Redis holds under the lock's key.
func (r *rig) fields() map[string]string {
	r.t.Helper()
	all, err := r.raw.HGetAll(context.Background(), r.key).Result()
	require.NoError(r.t, err)
	return all
}

// field is the one field that Redis holds, and its count.
func (r *rig) field() (field, count string) {
	r.t.Helper()
	all := r.fields()
	require.Len(r.t, all, 1)
	for field, count = range all {
		continue
	}
	return field, count
}

func (r *rig) ttl() time.Duration {
	r.t.Helper()
	ttl, err := r.raw.PTTL(context.Background(), r.key).Result()
	require.NoError(r.t, err)
	return ttl
}

// taken asserts that the rival is kept out.
func (r *rig) taken(why string) {
	r.t.Helper()
	ok, err := r.rival.TryLock(freshOwner(r.t))
	require.NoError(r.t, err)
	require.False(r.t, ok, why)
}

// free asserts that the rival gets in within that time, and lets it out again.
func (r *rig) free(within time.Duration, why string) {
	r.t.Helper()
	ctx := freshOwner(r.t)
	ok, err := r.rival.TryLock(ctx, rlock.Wait(within))
	require.NoError(r.t, err)
	require.True(r.t, ok, why)
	require.NoError(r.t, r.rival.Unlock(ctx))
}

// gone asserts that nothing of the lock remains within that time.
func (r *rig) gone(within time.Duration, why string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.raw.Exists(context.Background(), r.key).Val() == 0 },
		within, 5*time.Millisecond, why)
}

// idle asserts that the Client forgets everything within that time.
func (r *rig) idle(within time.Duration) {
	r.t.Helper()
	if !assert.Eventually(r.t, func() bool { return r.client.Leftovers() == rlock.Leftovers{} }, within, 5*time.Millisecond) {
		r.t.Fatalf("left over: %+v", r.client.Leftovers())
	}
}

// freshOwner is a context with an owner of its own.
func freshOwner(t *testing.T) context.Context {
	t.Helper()
	return ownerid.NewContext(context.Background(), ownerid.New())
}

// passed waits for something that the test cannot see happen: until that time has gone by on the network.
func passed(d time.Duration) { time.Sleep(d) }

var (
	acquireScript = faultproxy.Script("acquire")
	releaseScript = faultproxy.Script("release")
	renewScript   = faultproxy.Script("renew")
	forceScript   = faultproxy.Script("force")
)

// warm lets the server know the scripts, so that a fault meets the first EVALSHA, and one that is late finds its script.
func (r *rig) warm() {
	r.t.Helper()
	for _, text := range scripts(r.t) {
		require.NoError(r.t, r.raw.ScriptLoad(context.Background(), text).Err())
	}
	l := r.client.NewLock(r.key + ":warm")
	ctx := freshOwner(r.t)
	require.NoError(r.t, l.Lock(ctx))
	require.NoError(r.t, l.Unlock(ctx))
}

// eventually waits for what must come, with a bound that a busy machine keeps.
func (r *rig) eventually(cond func() bool, what string) {
	r.t.Helper()
	require.Eventually(r.t, cond, 10*time.Second, 5*time.Millisecond, what)
}

// repeated runs op while the network repeats its next such command, and returns after the repetition.
func (r *rig) repeated(m faultproxy.Match, op func()) {
	r.t.Helper()
	r.proxy.RepeatRequest(20*time.Millisecond, 1, m)
	answered := r.proxy.Answered(m)
	op()
	r.eventually(func() bool { return r.proxy.Answered(m) >= answered+2 }, "the command is repeated")
}

// limitedClient logs in as a user whose password is "secret".
func limitedClient(t *testing.T, srv *redistest.Server, user string) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: user, Password: "secret"})
	c, err := rlock.New(rdb)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
		_ = rdb.Close()
	})
	return c
}
