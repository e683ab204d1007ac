package lua_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

// renew is the call of a row: the lease for mine.
func renew(lease time.Duration) func(key, channel string) lua.Call {
	return func(key, _ string) lua.Call { return lua.Renew(key, mine, lease) }
}

func renewed(reply any) (any, error) { return lua.DecodeRenew(reply) }

var renewCases = []scriptCase{
	{
		name: "renew/held", before: held(short, mine, "2"), call: renew(long), decode: renewed,
		want: true, after: held(long, mine, "2"), again: true,
	},
	{
		name: "renew/never shortens the TTL", before: held(long, mine, "1"), call: renew(short), decode: renewed,
		want: true, after: held(long, mine, "1"), again: true,
	},
	{
		name: "renew/persisted key gets a TTL", before: held(lua.NoTTL, mine, "1"), call: renew(short), decode: renewed,
		want: true, after: held(short, mine, "1"), again: true,
	},
	{
		name: "renew/beside others", before: held(short, mine, "1", rival, "1"), call: renew(long), decode: renewed,
		want: true, after: held(long, mine, "1", rival, "1"), again: true,
	},
	{
		name: "renew/makes no key", before: free, call: renew(long), decode: renewed,
		want: false, after: free, again: false,
	},
	{
		name: "renew/somebody else's", before: held(short, rival, "1"), call: renew(long), decode: renewed,
		want: false, after: held(short, rival, "1"), again: false,
	},
	{
		name: "renew/look, held", before: held(short, mine, "1"), call: renew(0), decode: renewed,
		want: true, after: held(short, mine, "1"), again: true,
	},
	{
		name: "renew/look, persisted", before: held(lua.NoTTL, mine, "1"), call: renew(0), decode: renewed,
		want: true, after: held(lua.NoTTL, mine, "1"), again: true,
	},
	{
		// What is left of a MaxHold can be less than nothing; it must not delete the key.
		name: "renew/less than nothing is a look", before: held(short, mine, "1"), call: renew(-time.Second), decode: renewed,
		want: true, after: held(short, mine, "1"), again: true,
	},
	{
		name: "renew/look, lost", before: held(short, rival, "1"), call: renew(0), decode: renewed,
		want: false, after: held(short, rival, "1"), again: false,
	},
}

func TestDecodeRenewRefuses(t *testing.T) {
	for _, reply := range []any{nil, "OK", "1", 1, true, []any{}, int64(-1), int64(2)} {
		got, err := lua.DecodeRenew(reply)
		require.ErrorContains(t, err, "lua: renew: unexpected reply", "%v", reply)
		assert.False(t, got)
	}
}
