package lua_test

import (
	"crypto/fips140"
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

func TestFormsOfACall(t *testing.T) {
	for name, build := range builders {
		call := build("the key", "the channel")
		assert.Equal(t, name, call.Name())
		assert.Equal(t, "the key", call.Key())

		long := call.Eval(t.Context())
		assert.Equal(t, "eval", long.Name())
		text := long.Args()[1].(string)
		assert.True(t, strings.HasPrefix(text, "-- rlock:"+name+"\n"), "the first line names the operation")
		assert.Equal(t, []any{1, "the key"}, long.Args()[2:4])

		short := call.EvalSha(t.Context())
		assert.Equal(t, long.Args()[2:], short.Args()[2:], "both forms say the same")
		if fips140.Enforced() {
			assert.Panics(t, func() { sha1.Sum([]byte(text)) }, "this process must not use SHA-1")
			assert.Equal(t, long.Args(), short.Args())
			continue
		}
		sum := sha1.Sum([]byte(text))
		assert.Equal(t, []any{"evalsha", hex.EncodeToString(sum[:])}, short.Args()[:2])
	}
}

func TestCallIsImmutable(t *testing.T) {
	call := lua.Release("k", "ch", mine, 0, short)
	first := call.EvalSha(t.Context())
	want := append([]any(nil), first.Args()...)
	first.Args()[3] = "prefix:k" // as hooks that put a prefix on keys do

	assert.Equal(t, want, call.EvalSha(t.Context()).Args(), "the next attempt is as the first was")
	assert.Equal(t, "k", call.Key())
	assert.NotSame(t, call.EvalSha(t.Context()).Cmd, call.EvalSha(t.Context()).Cmd)
}

func TestCommandsAreNeverResentByTheClient(t *testing.T) {
	call := lua.Renew("k", mine, short)
	for _, cmd := range []redis.Cmder{
		call.Eval(t.Context()), call.EvalSha(t.Context()), call.EvalSha(t.Context()).Clone(),
	} {
		assert.True(t, cmd.NoRetry())
	}
	original := call.EvalSha(t.Context())
	assert.Equal(t, original.Args(), original.Clone().Args())
}

// A server that was restarted, or whose scripts were flushed, refuses the digest without having done anything.
func TestNoScript(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		if fips140.Enforced() {
			t.Skip("no digests here")
		}
		key, channel := names(t)
		for name, build := range builders {
			put(t, rdb, key, held(long, mine, "1"))
			call := build(key, channel)
			require.NoError(t, rdb.ScriptFlush(t.Context()).Err())

			byDigest := call.EvalSha(t.Context())
			require.ErrorContains(t, rdb.Process(t.Context(), byDigest), "NOSCRIPT", name)
			assertState(t, rdb, key, held(long, mine, "1"))

			require.NoError(t, rdb.Process(t.Context(), call.Eval(t.Context())), name)
			require.NoError(t, rdb.Process(t.Context(), call.EvalSha(t.Context())), "%s is known from its text", name)
		}
	})
}

func TestDigestIsTheServers(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		if fips140.Enforced() {
			t.Skip("no digests here")
		}
		for name, build := range builders {
			call := build("k", "ch")
			theirs, err := rdb.ScriptLoad(t.Context(), call.Eval(t.Context()).Args()[1].(string)).Result()
			require.NoError(t, err)
			assert.Equal(t, theirs, call.EvalSha(t.Context()).Args()[1], name)
		}
	})
}

// Scripts travel in pipelines; an error of one is its own.
func TestPipeline(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		key, channel := names(t)
		require.NoError(t, rdb.Set(t.Context(), "not "+key, "a string", long).Err())
		pipe := rdb.Pipeline()
		take := lua.Acquire(key, mine, 1, short, lua.Orphans{}).Eval(t.Context())
		fail := lua.Acquire("not "+key, mine, 1, short, lua.Orphans{}).Eval(t.Context())
		give := lua.Release(key, channel, mine, 0, 0).Eval(t.Context())
		for _, cmd := range []redis.Cmder{take, fail, give} {
			require.NoError(t, pipe.Process(t.Context(), cmd))
		}
		_, err := pipe.Exec(t.Context())
		require.ErrorContains(t, err, "WRONGTYPE")

		require.NoError(t, take.Err())
		assert.Equal(t, int64(-2), take.Val())
		require.ErrorContains(t, fail.Err(), "WRONGTYPE")
		require.NoError(t, give.Err())
		assert.Equal(t, int64(2), give.Val())
	})
}

// What a call costs before anything is sent: the words, the boxes of three of them, the command and its copy of the words.
func TestCallsAreCheap(t *testing.T) {
	ctx := t.Context()
	key, channel := names(t)
	acquire := testing.AllocsPerRun(100, func() { _ = lua.Acquire(key, mine+key, 1, short, lua.Orphans{}).EvalSha(ctx) })
	release := testing.AllocsPerRun(100, func() { _ = lua.Release(key, channel, mine+key, 0, 0).EvalSha(ctx) })
	assert.LessOrEqual(t, acquire, 7.0, "one of them is the test's own")
	assert.LessOrEqual(t, release, 7.0, "one of them is the test's own")
}

func BenchmarkAcquire(b *testing.B) {
	ctx, key, field := b.Context(), b.Name(), mine+b.Name() // no constants, whose boxes would be free
	b.ReportAllocs()
	for b.Loop() {
		_ = lua.Acquire(key, field, 1, short, lua.Orphans{}).EvalSha(ctx)
	}
}

func BenchmarkRelease(b *testing.B) {
	ctx, key, field := b.Context(), b.Name(), mine+b.Name()
	b.ReportAllocs()
	for b.Loop() {
		_ = lua.Release(key, field, field, 0, 0).EvalSha(ctx)
	}
}
