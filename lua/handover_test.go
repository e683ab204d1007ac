package lua_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

// handOver is the call of a row: the hold of mine goes to next, with that lease.
func handOver(lease time.Duration) func(key, channel string) lua.Call {
	return func(key, channel string) lua.Call { return lua.HandOver(key, channel, mine, next, lease) }
}

// handedOver reads a reply as both sides do.
func handedOver(reply any) (any, error) {
	waiter, err := lua.DecodeAcquire(reply)
	if err != nil {
		return nil, err
	}
	holder, err := lua.DecodeHandOver(reply)
	return handed{waiter.Outcome, holder}, err
}

// handed is what a hand-over is to who waited, and to who held the lock.
type handed struct {
	waiter lua.AcquireOutcome
	holder lua.ReleaseOutcome
}

var (
	moved   = handed{lua.Granted, lua.Kept}
	nothing = handed{lua.Lost, lua.NotHeld}
)

var handOverCases = []scriptCase{
	{
		name: "handover/moves", before: held(short, mine, "1"), call: handOver(short), decode: handedOver,
		want: moved, after: held(short, next, "1"), again: moved,
	},
	{
		name: "handover/all levels", before: held(short, mine, "3"), call: handOver(short), decode: handedOver,
		want: moved, after: held(short, next, "1"), again: moved,
	},
	{
		name: "handover/raises the TTL", before: held(short, mine, "1"), call: handOver(long), decode: handedOver,
		want: moved, after: held(long, next, "1"), again: moved,
	},
	{
		// The lease is the waiter's, and those who sleep on the TTL that they saw must look again.
		name: "handover/shortens the TTL", before: held(long, mine, "1"), call: handOver(short), decode: handedOver,
		want: moved, after: held(short, next, "1"), messages: 1, again: moved,
	},
	{
		name: "handover/persisted key gets a TTL", before: held(lua.NoTTL, mine, "1"), call: handOver(short), decode: handedOver,
		want: moved, after: held(short, next, "1"), messages: 1, again: moved,
	},
	{
		name: "handover/a repeat raises the TTL", before: held(short, next, "1"), call: handOver(long), decode: handedOver,
		want: moved, after: held(long, next, "1"), again: moved,
	},
	{
		// A late repeat meets a hold that lives on, with a lease that was renewed.
		name: "handover/a repeat never shortens the TTL", before: held(long, next, "1"), call: handOver(short), decode: handedOver,
		want: moved, after: held(long, next, "1"), again: moved,
	},
	{
		name: "handover/a repeat leaves the count alone", before: held(short, next, "3"), call: handOver(short), decode: handedOver,
		want: moved, after: held(short, next, "3"), again: moved,
	},
	{
		name: "handover/a repeat gives a persisted key a TTL", before: held(lua.NoTTL, next, "1"), call: handOver(short),
		decode: handedOver, want: moved, after: held(short, next, "1"), again: moved,
	},
	{
		name: "handover/both are there", before: held(short, mine, "2", next, "3"), call: handOver(long), decode: handedOver,
		want: moved, after: held(long, next, "1"), again: moved,
	},
	{
		name: "handover/beside another", before: held(short, mine, "1", rival, "2"), call: handOver(long), decode: handedOver,
		want: moved, after: held(long, next, "1", rival, "2"), again: moved,
	},
	{
		name: "handover/a repeat beside another", before: held(short, next, "1", rival, "2"), call: handOver(short),
		decode: handedOver, want: moved, after: held(short, next, "1", rival, "2"), again: moved,
	},
	{
		name: "handover/free", before: free, call: handOver(short), decode: handedOver,
		want: nothing, after: free, again: nothing,
	},
	{
		name: "handover/somebody else's", before: held(short, rival, "1"), call: handOver(long), decode: handedOver,
		want: nothing, after: held(short, rival, "1"), again: nothing,
	},
}

// A lease is one millisecond at least, and never less than was asked for.
func TestHandOverLease(t *testing.T) {
	for lease, want := range map[time.Duration]int64{0: 1, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, time.Second: 1000} {
		args := lua.HandOver("k", "ch", mine, next, lease).EvalSha(t.Context()).Args()
		assert.Equal(t, []any{1, "k", "ch", mine, next, want}, args[2:], lease)
	}
}

func TestDecodeHandOverRefuses(t *testing.T) {
	for _, reply := range []any{nil, "OK", "-2", -2, []any{}, int64(-4), int64(-1), int64(0), int64(1), int64(2)} {
		got, err := lua.DecodeHandOver(reply)
		require.ErrorContains(t, err, "lua: handover: unexpected reply", "%v", reply)
		assert.Zero(t, got, "no outcome beside an error")
	}
}
