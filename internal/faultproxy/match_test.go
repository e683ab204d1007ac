package faultproxy_test

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
)

func TestMatches(t *testing.T) {
	set := []string{"SET", "key", "value"}
	yes := []faultproxy.Match{
		faultproxy.Any,
		faultproxy.Command("set"),
		faultproxy.Command("Set KEY"),
		faultproxy.Word("value"),
		faultproxy.Not(faultproxy.Command("get")),
		faultproxy.And(),
		faultproxy.And(nil, faultproxy.Any, faultproxy.Word("key")),
		faultproxy.Or(faultproxy.Command("get"), faultproxy.Command("set")),
		faultproxy.Or(nil),
	}
	for i, m := range yes {
		assert.True(t, m(set), i)
		assert.False(t, faultproxy.Not(m)(set), i)
	}
	no := []faultproxy.Match{
		faultproxy.Command("get"),
		faultproxy.Command("set key value more"),
		faultproxy.Word("SET"),
		faultproxy.Word("val"),
		faultproxy.Not(nil),
		faultproxy.And(faultproxy.Any, faultproxy.Word("other")),
		faultproxy.Or(),
		faultproxy.Script("set"),
	}
	for i, m := range no {
		assert.False(t, m(set), i)
	}
	assert.False(t, faultproxy.Script("")([]string{"PING"}))
	assert.False(t, faultproxy.Word("PING")([]string{"PING"}))
}

func TestScriptsAreKnownByName(t *testing.T) {
	redistest.RequireVersion(t, 7, 0)
	r := newRig(t)
	client := r.client(t)
	ctx := soon(t)
	evaluated := "-- rlock:first\nreturn 1"
	loaded := "-- rlock:second and what it does\r\nreturn 2"
	foretold := "-- no name\nreturn 3"
	faultproxy.KnowScript(strings.ToUpper(digest(foretold)), "third")

	require.ErrorContains(t, client.EvalSha(ctx, digest(foretold), nil).Err(), "NOSCRIPT")
	require.NoError(t, client.Eval(ctx, evaluated, nil).Err())
	require.NoError(t, client.EvalSha(ctx, strings.ToUpper(digest(evaluated)), nil).Err())
	require.NoError(t, client.ScriptLoad(ctx, loaded).Err())
	require.NoError(t, client.EvalShaRO(ctx, digest(loaded), nil).Err())
	require.NoError(t, client.EvalRO(ctx, loaded, nil).Err())
	require.NoError(t, client.Eval(ctx, foretold, nil).Err())

	assert.Equal(t, 2, r.Seen(faultproxy.Script("first")))
	assert.Equal(t, 2, r.Seen(faultproxy.Script("second")))
	assert.Equal(t, 1, r.Seen(faultproxy.Script("third")))
	assert.Zero(t, r.Seen(faultproxy.Script("unheard-of")))
}

func TestLongWordsAreCountedByTheirHeads(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("x", 1<<20)
	require.NoError(t, r.client(t).Set(soon(t), "key", long, 0).Err())
	assert.Equal(t, 1, r.Seen(faultproxy.And(faultproxy.Word("key"), faultproxy.Word(long[:1024]))))
	r.DropReply(1, faultproxy.Word(long))
	c := connect(t, r.Addr())
	c.send("ECHO", long)
	require.NoError(t, r.WaitAnswered(soon(t), faultproxy.Command("echo"), 1))
	c.requireQuiet()
}

func digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// benchmark is what a request costs on its way through the proxy.
func benchmark(b *testing.B, clients int) {
	b.Helper()
	server := redistest.Start(b)
	p := faultproxy.New(b, server.Addr())
	client := server.Client(b, func(o *redis.Options) { o.Addr, o.PoolSize = p.Addr(), clients })
	b.SetParallelism(clients)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := client.Ping(b.Context()).Err(); err != nil {
				b.Error(err)
			}
		}
	})
}
