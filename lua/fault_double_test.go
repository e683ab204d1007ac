package lua_test

import (
	"crypto/fips140"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/lua"
)

// P1, P2, P11: the double has a Lua of its own, which differs in how it writes numbers, takes types for one another and reports errors.
// All rows of the script table, and some with numbers at the edge, are run on both servers side by side: the bare replies are of the
// same types and values, and what they leave behind is the same.
func TestFault_Z4_TheDoubleAndTheServerSayTheSame(t *testing.T) {
	if fips140.Enforced() {
		t.Skip("miniredis itself needs SHA-1")
	}
	for _, protocol := range []int{2, 3} {
		double := embedded(t, protocol)
		server := redistest.Shared(t).Client(t, func(o *redis.Options) { o.Protocol = protocol })
		for _, c := range slices.Concat(
			acquireCases, releaseCases, handOverCases, renewCases, forceCases, readCases, edgeCases,
		) {
			t.Run(fmt.Sprintf("resp%d/%s", protocol, c.name), func(t *testing.T) {
				key, channel := names(t)
				call := c.call(key, channel)
				for range 2 {
					put(t, double, key, c.before)
					put(t, server, key, c.before)
					fromDouble, err := run(t, double, call)
					require.NoError(t, err)
					fromServer, err := run(t, server, call)
					require.NoError(t, err)
					requireAlike(t, fromServer, fromDouble)
					assert.Equal(t, server.HGetAll(t.Context(), key).Val(), double.HGetAll(t.Context(), key).Val())
					requireAlike(t, server.PTTL(t.Context(), key).Val().Milliseconds(), double.PTTL(t.Context(), key).Val().Milliseconds())
				}
			})
		}
	}
}

const century = 100 * 365 * 24 * time.Hour

// timesOfDay lie beyond it, counted in microseconds since 1970.
const timesOfDay = 1e15

// edgeCases have numbers that a Lua may write with an exponent or cut to 32 bits.
var edgeCases = []scriptCase{
	{name: "edge/a lease of a century", before: free, call: acquire(1, century)},
	{name: "edge/a level within a century", before: held(century, mine, "1"), call: acquire(2, short)},
	{name: "edge/many levels", before: held(short, mine, "2147483647"), call: acquire(2_147_483_648, short)},
	{name: "edge/many levels fewer", before: held(short, mine, "2147483648"), call: func(key, channel string) lua.Call {
		return lua.Release(key, channel, mine, 3, century)
	}},
	{name: "edge/many levels handed over", before: held(short, mine, "1", next, "2147483648"), call: handOver(century)},
	{name: "edge/renewed for a century", before: held(short, mine, "1"), call: func(key, _ string) lua.Call {
		return lua.Renew(key, mine, century)
	}},
	{name: "edge/a rest of a century", before: held(lua.NoTTL, mine, "1"), call: func(key, _ string) lua.Call {
		return lua.Look(key, mine, century)
	}},
	{name: "edge/taken for a century", before: held(century, rival, "1"), call: acquire(1, short)},
	{name: "edge/one millisecond", before: held(short, mine, "1"), call: acquire(2, time.Nanosecond)},
	{name: "edge/forced until the end of numbers", before: held(short, rival, "1"), call: func(key, channel string) lua.Call {
		return lua.Force(key, channel, []string{rival}, 1<<53)
	}},
	{name: "edge/forced in 1970", before: held(short, rival, "1"), call: func(key, channel string) lua.Call {
		return lua.Force(key, channel, []string{rival}, 1)
	}},
	{name: "edge/a field of any bytes", before: held(short, "\x00 \xff\r\n{}", "1"), call: func(key, channel string) lua.Call {
		return lua.Release(key, channel, "\x00 \xff\r\n{}", 0, 0)
	}},
	{name: "edge/read any bytes", before: held(short, "\x00 \xff\r\n{}", "1"), call: func(key, _ string) lua.Call {
		return lua.Read(key)
	}},
}

// requireAlike compares replies. Large numbers are times, which pass between the one server and the other: TTLs in milliseconds,
// and times of day in microseconds, which no TTL comes near to. Ten seconds are less than any two leases of the table differ by.
func requireAlike(t *testing.T, want, got any) {
	t.Helper()
	require.IsType(t, want, got)
	switch w := want.(type) {
	case []any: // two numbers, then pairs in no particular order
		g := got.([]any)
		require.Len(t, g, len(w))
		for i := range 2 {
			requireAlike(t, w[i], g[i])
		}
		require.ElementsMatch(t, slices.Collect(slices.Chunk(w[2:], 2)), slices.Collect(slices.Chunk(g[2:], 2)))
	case int64:
		allowed := 10e3
		if w > timesOfDay {
			allowed = 10e6
		}
		if g := got.(int64); w > 1000 {
			require.Less(t, math.Abs(float64(w-g)), allowed, "%d and %d", w, g)
			return
		}
		require.Equal(t, want, got)
	default:
		require.Equal(t, want, got)
	}
}
