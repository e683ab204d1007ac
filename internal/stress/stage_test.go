package stress_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// stage is a server of the test's own, what the test sees of it, and the Clients under attack.
type stage struct {
	t       *testing.T
	srv     *redistest.Server
	raw     *redis.Client
	values  register
	bad     findings
	actors  []actor
	proxies []*faultproxy.Proxy
}

// actor is a Client and the connections that it has for itself.
type actor struct {
	*rlock.Client
	rdb *redis.Client
}

func newStage(t *testing.T, opts ...redistest.Option) *stage {
	t.Helper()
	knowScripts(t)
	srv := redistest.Start(t, opts...)
	s := &stage{t: t, srv: srv, raw: srv.Raw(t), values: newRegister(srv.Addr())}
	require.NoError(t, s.raw.Ping(t.Context()).Err())
	t.Cleanup(func() {
		_ = s.values.rdb.Close()
		for _, a := range s.actors { // those that the test has not closed
			_ = a.Close(ended())
			_ = a.rdb.Close()
		}
	})
	return s
}

// client makes a Client on connections of its own.
func (s *stage) client(options redis.Options, opts ...rlock.Option) *rlock.Client {
	s.t.Helper()
	rdb := redis.NewClient(&options)
	quiet := rlock.WithLogger(slog.New(slog.DiscardHandler))
	c, err := rlock.New(rdb, append([]rlock.Option{quiet}, opts...)...)
	require.NoError(s.t, err)
	s.actors = append(s.actors, actor{c, rdb})
	return c
}

// proxy makes a network that can fail.
func (s *stage) proxy() *faultproxy.Proxy {
	s.t.Helper()
	proxy := faultproxy.New(s.t, s.srv.Addr())
	s.proxies = append(s.proxies, proxy)
	return proxy
}

// hasty are options for a redis client that does not wait long for an answer, and gets to work soon on a new connection.
func hasty(addr string, answer time.Duration) redis.Options {
	return redis.Options{
		Addr: addr, ReadTimeout: answer, WriteTimeout: answer, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// direct is a Client with a direct line to the server.
func (s *stage) direct(opts ...rlock.Option) *rlock.Client {
	s.t.Helper()
	return s.client(redis.Options{Addr: s.srv.Addr()}, opts...)
}

// steady is a direct Client whose connections are all there from the start: they are go-redis' and no memory of the lock's.
func (s *stage) steady() *rlock.Client {
	s.t.Helper()
	const connections = 20
	c := s.client(redis.Options{Addr: s.srv.Addr(), PoolSize: connections, MinIdleConns: connections})
	pool := s.actors[len(s.actors)-1].rdb
	require.True(s.t, within(10*time.Second, func() bool { return pool.PoolStats().TotalConns >= connections }))
	return c
}

// lockKeys are the keys of the locks in Redis. The names of all locks here begin alike.
func (s *stage) lockKeys() []string {
	s.t.Helper()
	var found []string
	all := s.raw.Scan(context.Background(), 0, "lock*", 1000).Iterator()
	for all.Next(context.Background()) {
		found = append(found, all.Val())
	}
	require.NoError(s.t, all.Err())
	return found
}

// requireNoKeys asserts that every lock is gone within that time, while the Clients live and could renew, and says how
// long it took.
func (s *stage) requireNoKeys(within time.Duration) {
	s.t.Helper()
	from := instant()
	left := s.lockKeys()
	for ; len(left) > 0 && instant()-from < within; left = s.lockKeys() {
		time.Sleep(5 * time.Millisecond)
	}
	for _, key := range left {
		fields, ttl := s.raw.HGetAll(context.Background(), key).Val(), s.raw.PTTL(context.Background(), key).Val()
		assert.Fail(s.t, "a key is left", "%s %v for %v", key, fields, ttl)
	}
	s.t.Logf("all keys were gone after %v", (instant() - from).Round(time.Millisecond))
}

// requireNoChannels asserts that nobody is subscribed any more; a subscription lingers for a while.
func (s *stage) requireNoChannels() {
	s.t.Helper()
	var left []string
	if !within(10*time.Second, func() bool {
		left = s.raw.PubSubChannels(context.Background(), "*").Val()
		return len(left) == 0
	}) {
		assert.Fail(s.t, "subscriptions are left", "%v", left)
	}
}

// closeAll closes the Clients, with time to do it in good order and on networks that are well, and asserts that no goroutine
// remains.
func (s *stage) closeAll() {
	s.t.Helper()
	for _, proxy := range s.proxies {
		proxy.Heal()
		proxy.Cut() // a connection that lost a reply stays silent
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, a := range s.actors {
		assert.NoError(s.t, a.Close(ctx))
		assert.NoError(s.t, a.rdb.Close())
	}
	s.actors = nil
	if stack := ""; !within(10*time.Second, func() bool { stack = ofTheLibrary(); return stack == "" }) {
		assert.Fail(s.t, "a goroutine is left", "%s", stack)
	}
}

// ofTheLibrary is the stack of a goroutine that runs the library's code, on behalf of a caller or its own; empty if there is
// none.
func ofTheLibrary() string {
	stacks := make([]byte, 16<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		for _, room := range []string{"/rlock.", "/pubsub.", "/internal/gate.", "/internal/wire.", "/internal/watchdog."} {
			if strings.Contains(stack, "rlock-go/rlock"+room) {
				return stack
			}
		}
	}
	return ""
}

// findings are what goroutines found wrong. Those beyond a few are only counted.
type findings struct {
	mu    sync.Mutex // guards what follows
	first []string
	count int
}

func (f *findings) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count <= 20 {
		f.first = append(f.first, fmt.Sprintf("%v: ", instant())+fmt.Sprintf(format, args...))
	}
}

// unexpected adds an error that should not be.
func (f *findings) unexpected(err error, what string) {
	if err != nil {
		f.add("%s: %v", what, err)
	}
}

func (f *findings) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count > 0
}

// verdict fails the test for what was found, here and in the history.
func (s *stage) verdict(h *history) {
	s.t.Helper()
	for _, fault := range h.faults() {
		s.bad.add("%s", fault)
	}
	if s.bad.any() {
		assert.Fail(s.t, "violations", "%d of them:\n%s", s.bad.count, strings.Join(s.bad.first, "\n"))
	}
}

// within waits for what must come by then.
func within(limit time.Duration, condition func() bool) bool {
	for until := instant() + limit; ; time.Sleep(5 * time.Millisecond) {
		if condition() {
			return true
		}
		if instant() > until {
			return false
		}
	}
}

// someone is a context of an owner of its own.
func someone() context.Context { return ownerid.NewContext(context.Background(), ownerid.New()) }

// ended is a context that is over.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// crew lets so many workers do n tasks. A worker is one goroutine for task after task.
func crew(workers, n int, task func(worker, i int)) {
	var (
		mu   sync.Mutex // guards next
		next int
		all  sync.WaitGroup
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	for worker := range workers {
		all.Go(func() {
			for i := take(); i < n; i = take() {
				task(worker, i)
			}
		})
	}
	all.Wait()
}

// knowScripts tells the proxies the digests of the scripts: a server that has met them before is not sent the text.
func knowScripts(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("../../lua/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sum := sha1.Sum(text)
		faultproxy.KnowScript(hex.EncodeToString(sum[:]), strings.TrimSuffix(filepath.Base(file), ".lua"))
	}
}
