package servers_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/servers"
)

// TestMain lets this binary be the servers that the program is.
func TestMain(m *testing.M) {
	serve := map[string]func([]string) error{
		servers.DelayCommand: servers.ServeDelay,
		servers.EtcdCommand:  func(words []string) error { return servers.ServeEtcd(context.Background(), words) },
	}
	if len(os.Args) > 1 && serve[os.Args[1]] != nil {
		if err := serve[os.Args[1]](os.Args[2:]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// start skips where a store is not installed; Redis itself may be missing only where the caller does not insist on it. What a
// machine lacks is unmeasured there, and no bar is met by it.
func start(t *testing.T, store peers.Store) *servers.Server {
	t.Helper()
	server, err := servers.Start(t.Context(), store)
	if errors.Is(err, servers.ErrMissing) && (store != peers.Redis || os.Getenv("RLOCK_REQUIRE_REDIS") != "1") {
		t.Skipf("SKIPPED: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Stop()) })
	return server
}

// TestServersServe takes and gives back a lock on each kind of server.
func TestServersServe(t *testing.T) {
	t.Chdir("..") // where java/ is
	for _, name := range []string{"redislock", "etcd", "PostgreSQL", "ZooKeeper"} {
		t.Run(name, func(t *testing.T) {
			p, ok := peers.ByName(name)
			require.True(t, ok)
			server := start(t, p.Store)
			assert.Contains(t, strings.ToLower(server.Version), strings.ToLower(string(p.Store)))
			client, err := p.Open(peers.Config{Addr: server.Addr, Goroutines: 1, Lease: 10 * time.Second})
			require.NoError(t, err)
			handle, err := client.Handle("name")
			require.NoError(t, err)
			for range 2 { // the second would wait for ever if the first were not given back
				require.NoError(t, handle.Lock(t.Context()))
				require.NoError(t, handle.Unlock(t.Context()))
			}
			require.NoError(t, client.Close())
			cpu, err := server.CPU()
			require.NoError(t, err)
			assert.Positive(t, cpu)
		})
	}
}

// TestCPUAsTheServerSeesIt compares /proc with what Redis counts.
func TestCPUAsTheServerSeesIt(t *testing.T) {
	server := start(t, peers.Redis)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer rdb.Close()
	busy := redis.NewScript(`local n = 0; for i = 1, 2e7 do n = n + i % 7 end; return n`)
	require.NoError(t, busy.Run(t.Context(), rdb, nil).Err())
	text := rdb.InfoMap(t.Context(), "cpu").Val()["CPU"]
	var counted time.Duration
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := time.ParseDuration(text[field] + "s")
		require.NoError(t, err)
		counted += seconds
	}
	cpu, err := server.CPU()
	require.NoError(t, err)
	require.Greater(t, counted, 50*time.Millisecond)
	assert.InDelta(t, counted.Seconds(), cpu.Seconds(), 0.03)
}

// TestDelayDelaysAndNothingElse sends a hundred commands at once: one round trip for all, not one for each.
func TestDelayDelaysAndNothingElse(t *testing.T) {
	const roundTrip = 30 * time.Millisecond
	server := start(t, peers.Redis)
	proxy, err := servers.StartDelay(t.Context(), server.Addr, roundTrip)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, proxy.Stop()) })
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr, PoolSize: 1})
	defer rdb.Close()
	require.NoError(t, rdb.Ping(t.Context()).Err())

	start := time.Now()
	require.NoError(t, rdb.Ping(t.Context()).Err())
	assert.GreaterOrEqual(t, time.Since(start), roundTrip)

	start = time.Now()
	_, err = rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for range 100 {
			pipe.Ping(t.Context())
		}
		return nil
	})
	require.NoError(t, err)
	assert.Less(t, time.Since(start), 20*roundTrip)
}
