package lua_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

func looks(key, _ string) lua.Call { return lua.Read(key) }

// contents leaves out the instant, which has a test of its own, and the order, which Redis does not promise.
func contents(reply any) (any, error) {
	c, err := lua.DecodeRead(reply)
	c.At = 0
	slices.SortFunc(c.Fields, func(a, b lua.Field) int { return strings.Compare(a.Name, b.Name) })
	return c, err
}

func contain(ttl time.Duration, fields ...lua.Field) lua.Contents {
	return lua.Contents{Fields: fields, TTL: ttl}
}

var readCases = []scriptCase{
	{
		name: "read/free", before: free, call: looks, decode: contents,
		want: contain(0), after: free, again: contain(0),
	},
	{
		name: "read/held", before: held(long, mine, "2"), call: looks, decode: contents,
		want: contain(long, lua.Field{Name: mine, Count: 2}), after: held(long, mine, "2"),
	},
	{
		name: "read/persisted", before: held(lua.NoTTL, mine, "1"), call: looks, decode: contents,
		want: contain(lua.NoTTL, lua.Field{Name: mine, Count: 1}), after: held(lua.NoTTL, mine, "1"),
	},
	{
		name: "read/several fields", before: held(short, mine, "1", rival, "12"), call: looks, decode: contents,
		want:  contain(short, lua.Field{Name: mine, Count: 1}, lua.Field{Name: rival, Count: 12}),
		after: held(short, mine, "1", rival, "12"),
	},
	{
		name: "read/what is no plain lock", before: held(short, "mode", "read", "", ""), call: looks, decode: contents,
		want:  contain(short, lua.Field{}, lua.Field{Name: "mode"}),
		after: held(short, "mode", "read", "", ""),
	},
}

func TestReadTellsTheServersTime(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		key, _ := names(t)
		before := serverTime(t, rdb)
		first := read(t, rdb, key)
		second := read(t, rdb, key)
		after := serverTime(t, rdb)

		assert.LessOrEqual(t, before, first.At)
		assert.LessOrEqual(t, first.At, second.At)
		assert.LessOrEqual(t, second.At, after)
	})
}

func TestDecodeReadRefuses(t *testing.T) {
	for _, reply := range []any{
		nil, int64(1), "OK",
		[]any{},
		[]any{int64(1)},
		[]any{int64(1), int64(2), "field"},           // a field without its value
		[]any{"1", int64(2)},                         // a time that is no number
		[]any{int64(1), "2"},                         // a TTL that is no number
		[]any{int64(1), int64(2), int64(3), "1"},     // a field that is no text
		[]any{int64(1), int64(2), "field", int64(1)}, // a value that is no text
		[]any{int64(1), int64(2), "field", nil},
	} {
		got, err := lua.DecodeRead(reply)
		require.ErrorContains(t, err, "lua: read: unexpected reply", "%v", reply)
		assert.Zero(t, got)
	}
}

func read(t *testing.T, rdb *redis.Client, key string) lua.Contents {
	t.Helper()
	reply, err := run(t, rdb, lua.Read(key))
	require.NoError(t, err)
	c, err := lua.DecodeRead(reply)
	require.NoError(t, err)
	return c
}

// serverTime is in µs. miniredis' TIME is the process's clock.
func serverTime(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	now, err := rdb.Time(t.Context()).Result()
	require.NoError(t, err)
	return now.UnixMicro()
}
