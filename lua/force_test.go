package lua_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

// force is the call of a row: in time by a wide margin, against the fields given.
func force(fields ...string) func(key, channel string) lua.Call {
	return func(key, channel string) lua.Call {
		return lua.Force(key, channel, fields, time.Now().Add(time.Hour).UnixMicro())
	}
}

func forced(reply any) (any, error) { return lua.DecodeForce(reply) }

var forceCases = []scriptCase{
	{
		name: "force/one holder", before: held(long, rival, "3"), call: force(rival), decode: forced,
		want: true, after: free, messages: 1, again: false,
	},
	{
		name: "force/several fields", before: held(long, rival, "1", mine, "2"), call: force(rival, mine), decode: forced,
		want: true, after: free, messages: 1, again: false,
	},
	{
		name: "force/some are gone already", before: held(lua.NoTTL, rival, "1"), call: force(mine, rival, older),
		decode: forced, want: true, after: free, messages: 1, again: false,
	},
	{
		name: "force/a field that was not seen stays", before: held(long, rival, "1", mine, "1"), call: force(rival),
		decode: forced, want: true, after: held(long, mine, "1"), again: false,
	},
	{
		name: "force/a later hold stays", before: held(long, mine, "1"), call: force(rival), decode: forced,
		want: false, after: held(long, mine, "1"), again: false,
	},
	{
		name: "force/free", before: free, call: force(rival), decode: forced,
		want: false, after: free, again: false,
	},
	{
		name: "force/nothing seen", before: held(long, mine, "1"), call: force(), decode: forced,
		want: false, after: held(long, mine, "1"), again: false,
	},
}

// The time of the guard is the server's, as read tells it.
func TestForceComesTooLate(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		key, channel := names(t)
		before := held(long, rival, "1")
		put(t, rdb, key, before)
		ear := listen(t, rdb, channel)
		seen := read(t, rdb, key)

		// The server has passed the instant of the read by now, so the instant before it is certainly over.
		late := lua.Force(key, channel, []string{rival}, seen.At-1)
		assert.False(t, runForce(t, rdb, late))
		assertState(t, rdb, key, before)
		assert.Zero(t, ear.heard(t))

		inTime := lua.Force(key, channel, []string{rival}, seen.At+time.Hour.Microseconds())
		assert.True(t, runForce(t, rdb, inTime))
		assertState(t, rdb, key, free)
		assert.Equal(t, 1, ear.heard(t))
	})
}

func TestDecodeForceRefuses(t *testing.T) {
	for _, reply := range []any{nil, "OK", "1", 1, true, []any{}, int64(-1), int64(2)} {
		got, err := lua.DecodeForce(reply)
		require.ErrorContains(t, err, "lua: force: unexpected reply", "%v", reply)
		assert.False(t, got)
	}
}

func runForce(t *testing.T, rdb *redis.Client, call lua.Call) bool {
	t.Helper()
	reply, err := run(t, rdb, call)
	require.NoError(t, err)
	removed, err := lua.DecodeForce(reply)
	require.NoError(t, err)
	return removed
}
