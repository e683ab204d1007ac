package lua_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

// release is the call of a row: levels that shall remain to mine, and the TTL to raise to.
func release(remain int, raise time.Duration) func(key, channel string) lua.Call {
	return func(key, channel string) lua.Call { return lua.Release(key, channel, mine, remain, raise) }
}

func released(reply any) (any, error) { return lua.DecodeRelease(reply) }

var releaseCases = []scriptCase{
	{
		name: "release/last level", before: held(short, mine, "1"), call: release(0, 0), decode: released,
		want: lua.Freed, after: free, messages: 1, again: lua.NotHeld,
	},
	{
		name: "release/all levels at once", before: held(short, mine, "3"), call: release(0, long), decode: released,
		want: lua.Freed, after: free, messages: 1, again: lua.NotHeld,
	},
	{
		name: "release/inner level", before: held(long, mine, "3"), call: release(2, 0), decode: released,
		want: lua.Kept, after: held(long, mine, "2"), again: lua.Kept,
	},
	{
		name: "release/count named", before: held(long, mine, "1"), call: release(2, 0), decode: released,
		want: lua.Kept, after: held(long, mine, "2"), again: lua.Kept,
	},
	{
		name: "release/raises the TTL", before: held(short, mine, "2"), call: release(1, long), decode: released,
		want: lua.Kept, after: held(long, mine, "1"), again: lua.Kept,
	},
	{
		name: "release/never shortens the TTL", before: held(long, mine, "2"), call: release(1, short), decode: released,
		want: lua.Kept, after: held(long, mine, "1"), again: lua.Kept,
	},
	{
		name: "release/a repeat raises the TTL too", before: held(short, mine, "1"), call: release(1, long), decode: released,
		want: lua.Kept, after: held(long, mine, "1"), again: lua.Kept,
	},
	{
		name: "release/persisted key gets a TTL", before: held(lua.NoTTL, mine, "2"), call: release(1, short), decode: released,
		want: lua.Kept, after: held(short, mine, "1"), again: lua.Kept,
	},
	{
		name: "release/persisted key left alone", before: held(lua.NoTTL, mine, "2"), call: release(1, 0), decode: released,
		want: lua.Kept, after: held(lua.NoTTL, mine, "1"), again: lua.Kept,
	},
	{
		// Nobody is told while another field keeps the lock: there is nothing to be had.
		name: "release/others keep the key", before: held(long, mine, "2", rival, "1"), call: release(0, ages), decode: released,
		want: lua.Kept, after: held(long, rival, "1"), again: lua.NotHeld,
	},
	{
		name: "release/free", before: free, call: release(0, 0), decode: released,
		want: lua.NotHeld, after: free, again: lua.NotHeld,
	},
	{
		name: "release/inner level of a free lock", before: free, call: release(2, long), decode: released,
		want: lua.NotHeld, after: free, again: lua.NotHeld,
	},
	{
		name: "release/somebody else's", before: held(short, rival, "1"), call: release(0, long), decode: released,
		want: lua.NotHeld, after: held(short, rival, "1"), again: lua.NotHeld,
	},
	{
		// The release of an attempt that is over must not touch the owner's next hold.
		name: "release/a later hold of the same owner", before: held(short, "app:c1~2", "1"), call: release(0, long),
		decode: released, want: lua.NotHeld, after: held(short, "app:c1~2", "1"), again: lua.NotHeld,
	},
}

func TestDecodeReleaseRefuses(t *testing.T) {
	for _, reply := range []any{nil, "OK", "1", 1, []any{}, int64(-1), int64(3)} {
		got, err := lua.DecodeRelease(reply)
		require.ErrorContains(t, err, "lua: release: unexpected reply", "%v", reply)
		assert.Zero(t, got, "no outcome beside an error")
	}
}
