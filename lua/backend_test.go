package lua_test

import (
	"context"
	"crypto/fips140"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/lua"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// onEach runs a test on the embedded and on a real server, in both protocols.
func onEach(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	t.Helper()
	for _, protocol := range []int{2, 3} {
		resp := "resp" + strconv.Itoa(protocol)
		t.Run("miniredis/"+resp, func(t *testing.T) {
			if fips140.Enforced() {
				t.Skip("miniredis itself needs SHA-1")
			}
			test(t, embedded(t, protocol))
		})
		t.Run("redis/"+resp, func(t *testing.T) {
			test(t, redistest.Shared(t).Client(t, func(o *redis.Options) { o.Protocol = protocol }))
		})
	}
}

func embedded(t *testing.T, protocol int) *redis.Client {
	t.Helper()
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: protocol})
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}

// names are a lock and its channel that no other test uses.
func names(t *testing.T) (key, channel string) {
	t.Helper()
	key = "lua:" + t.Name()
	return key, "redisson_lock__channel:{" + key + "}"
}

// run sends a call as rlock does: by digest, and with the text if the server does not know it.
func run(t *testing.T, rdb *redis.Client, call lua.Call) (any, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := call.EvalSha(ctx)
	err := rdb.Process(ctx, cmd)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		cmd = call.Eval(ctx)
		err = rdb.Process(ctx, cmd)
	}
	return cmd.Val(), err
}

func put(t *testing.T, rdb *redis.Client, key string, s state) {
	t.Helper()
	require.NoError(t, rdb.Del(t.Context(), key).Err())
	if len(s.fields) == 0 {
		return
	}
	require.NoError(t, rdb.HSet(t.Context(), key, s.fields).Err())
	if s.ttl != lua.NoTTL {
		require.NoError(t, rdb.PExpire(t.Context(), key, s.ttl).Err())
	}
}

func assertState(t *testing.T, rdb *redis.Client, key string, want state) {
	t.Helper()
	fields, err := rdb.HGetAll(t.Context(), key).Result()
	require.NoError(t, err)
	if len(want.fields) == 0 {
		assert.Empty(t, fields)
		return
	}
	assert.Equal(t, want.fields, fields)
	ttl, err := rdb.PTTL(t.Context(), key).Result()
	require.NoError(t, err)
	assertTTL(t, want.ttl, ttl)
}

// assertTTL allows for the time that a busy machine takes from the setting to the reading, never for more than was set.
func assertTTL(t *testing.T, want, got time.Duration) {
	t.Helper()
	if want <= 0 {
		assert.Equal(t, want, got, "TTL")
		return
	}
	assert.LessOrEqual(t, got, want, "TTL")
	assert.Greater(t, got, want-want/3, "TTL")
}

// assertReply compares decoded replies, their TTLs as assertTTL does.
func assertReply(t *testing.T, want, got any) {
	t.Helper()
	switch w := want.(type) {
	case lua.Acquired:
		g := got.(lua.Acquired)
		assertTTL(t, w.TTL, g.TTL)
		w.TTL, g.TTL = 0, 0
		assert.Equal(t, w, g)
	case lua.Contents:
		g := got.(lua.Contents)
		assertTTL(t, w.TTL, g.TTL)
		w.TTL, g.TTL = 0, 0
		assert.Equal(t, w, g)
	default:
		assert.Equal(t, want, got)
	}
}

// ear listens to one channel.
type ear struct {
	rdb     *redis.Client
	sub     *redis.PubSub
	channel string
}

// listen returns when the server has confirmed the subscription.
func listen(t *testing.T, rdb *redis.Client, channel string) *ear {
	t.Helper()
	sub := rdb.Subscribe(t.Context(), channel)
	t.Cleanup(func() { assert.NoError(t, sub.Close()) })
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	return &ear{rdb: rdb, sub: sub, channel: channel}
}

// heard is the number of "0" messages that came since it was last asked. It sends a message of its own and counts what
// comes before that: nothing later can have been sent earlier.
func (e *ear) heard(t *testing.T) int {
	t.Helper()
	require.NoError(t, e.rdb.Publish(t.Context(), e.channel, "the end").Err())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for count := 0; ; count++ {
		message, err := e.sub.ReceiveMessage(ctx)
		require.NoError(t, err)
		if message.Payload == "the end" {
			return count
		}
		require.Equal(t, "0", message.Payload)
	}
}
