package lua_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

var (
	granted = lua.Acquired{Outcome: lua.Granted}
	lost    = lua.Acquired{Outcome: lua.Lost}
)

func taken(ttl time.Duration) lua.Acquired { return lua.Acquired{Outcome: lua.Taken, TTL: ttl} }

// acquire is the call of a row: levels and lease wanted for mine, and the fields given up.
func acquire(want int, lease time.Duration, abandoned ...string) func(key, channel string) lua.Call {
	return func(key, channel string) lua.Call {
		return lua.Acquire(key, mine, want, lease, lua.Orphans{Channel: channel, Fields: abandoned})
	}
}

func acquired(reply any) (any, error) { return lua.DecodeAcquire(reply) }

var acquireCases = []scriptCase{
	{
		name: "acquire/free", before: free, call: acquire(1, short), decode: acquired,
		want: granted, after: held(short, mine, "1"), again: granted,
	},
	{
		name: "acquire/second level", before: held(short, mine, "1"), call: acquire(2, short), decode: acquired,
		want: granted, after: held(short, mine, "2"), again: granted,
	},
	{
		name: "acquire/third level", before: held(short, mine, "2"), call: acquire(3, short), decode: acquired,
		want: granted, after: held(short, mine, "3"), again: granted,
	},
	{
		// A late one of an earlier time: the count is what was named, and the next command names the right one.
		name: "acquire/count named", before: held(short, mine, "5"), call: acquire(2, short), decode: acquired,
		want: granted, after: held(short, mine, "2"), again: granted,
	},
	{
		name: "acquire/raises the TTL", before: held(short, mine, "1"), call: acquire(2, long), decode: acquired,
		want: granted, after: held(long, mine, "2"), again: granted,
	},
	{
		name: "acquire/never shortens the TTL", before: held(long, mine, "1"), call: acquire(2, short), decode: acquired,
		want: granted, after: held(long, mine, "2"), again: granted,
	},
	{
		name: "acquire/a repeat raises the TTL too", before: held(short, mine, "1"), call: acquire(1, long), decode: acquired,
		want: granted, after: held(long, mine, "1"), again: granted,
	},
	{
		name: "acquire/persisted key gets a TTL", before: held(lua.NoTTL, mine, "1"), call: acquire(2, short), decode: acquired,
		want: granted, after: held(short, mine, "2"), again: granted,
	},
	{
		name: "acquire/a level beside others' fields", before: held(long, mine, "1", rival, "1"), call: acquire(2, short),
		decode: acquired, want: granted, after: held(long, mine, "2", rival, "1"), again: granted,
	},
	{
		name: "acquire/taken", before: held(long, rival, "3"), call: acquire(1, short), decode: acquired,
		want: taken(long), after: held(long, rival, "3"), again: taken(long),
	},
	{
		name: "acquire/taken for good", before: held(lua.NoTTL, rival, "1"), call: acquire(1, short), decode: acquired,
		want: taken(lua.NoTTL), after: held(lua.NoTTL, rival, "1"), again: taken(lua.NoTTL),
	},
	{
		name: "acquire/lost and free", before: free, call: acquire(2, short), decode: acquired,
		want: lost, after: free, again: lost,
	},
	{
		name: "acquire/lost and taken", before: held(long, rival, "1"), call: acquire(2, short), decode: acquired,
		want: lost, after: held(long, rival, "1"), again: lost,
	},
	{
		name: "acquire/lost to a field given up", before: held(long, older, "1"), call: acquire(2, short, older),
		decode: acquired, want: lost, after: held(long, older, "1"), again: lost,
	},
	{
		name: "acquire/free with a list", before: free, call: acquire(1, short, older, oldest), decode: acquired,
		want: granted, after: held(short, mine, "1"), again: granted,
	},
	{
		name: "acquire/takes over", before: held(short, older, "1"), call: acquire(1, long, older), decode: acquired,
		want: granted, after: held(long, mine, "1"), again: granted,
	},
	{
		name: "acquire/takes over several", before: held(short, older, "1", oldest, "2"),
		call: acquire(1, long, oldest, "app:c1~7", older), decode: acquired,
		want: granted, after: held(long, mine, "1"), again: granted,
	},
	{
		// The TTL was the orphan's alone. A holder that dies must not block the lock for longer than its own lease; and who
		// sleeps on the TTL that he saw has to look again.
		name: "acquire/takes over without the orphan's TTL", before: held(ages, older, "1"), call: acquire(1, short, older),
		decode: acquired, want: granted, after: held(short, mine, "1"), messages: 1, again: granted,
	},
	{
		name: "acquire/takes over a persisted key", before: held(lua.NoTTL, older, "1"), call: acquire(1, short, older),
		decode: acquired, want: granted, after: held(short, mine, "1"), messages: 1, again: granted,
	},
	{
		name: "acquire/no takeover past another", before: held(long, older, "1", rival, "1"), call: acquire(1, short, older),
		decode: acquired, want: taken(long), after: held(long, older, "1", rival, "1"), again: taken(long),
	},
	{
		// The list counts by names, not by how many: one given up field, named twice, is not two.
		name: "acquire/no takeover by numbers", before: held(long, older, "1", rival, "1"),
		call: acquire(1, short, older, older), decode: acquired,
		want: taken(long), after: held(long, older, "1", rival, "1"), again: taken(long),
	},
	{
		name: "acquire/no takeover without the list", before: held(long, older, "1"), call: acquire(1, short),
		decode: acquired, want: taken(long), after: held(long, older, "1"), again: taken(long),
	},
	{
		name: "acquire/lease rounded up", before: free, call: acquire(1, ages-time.Microsecond), decode: acquired,
		want: granted, after: held(ages, mine, "1"), again: granted,
	},
}

func TestAcquireSendsWholeMilliseconds(t *testing.T) {
	for lease, want := range map[time.Duration]int64{
		-time.Second:                       1, // PEXPIRE 0 would delete what was just granted
		0:                                  1,
		time.Nanosecond:                    1,
		time.Millisecond:                   1,
		time.Millisecond + time.Nanosecond: 2,
		30 * time.Second:                   30_000,
		1<<63 - 1:                          9_223_372_036_855,
	} {
		args := lua.Acquire("k", mine, 1, lease, lua.Orphans{}).Eval(t.Context()).Args()
		assert.EqualValues(t, want, args[len(args)-1], "%v", lease)
	}
}

func TestAcquireKeepsItsOwnListOfFields(t *testing.T) {
	list := []string{older, oldest}
	call := lua.Acquire("k", mine, 1, short, lua.Orphans{Fields: list})
	list[0] = rival
	args := call.Eval(t.Context()).Args()
	assert.Equal(t, []any{older, oldest}, args[len(args)-2:])
}

func TestDecodeAcquireRefuses(t *testing.T) {
	for _, reply := range []any{nil, "OK", "-2", 1, []any{int64(-2)}, 1.5, int64(-4), int64(-1 << 62)} {
		got, err := lua.DecodeAcquire(reply)
		require.ErrorContains(t, err, "lua: acquire: unexpected reply", "%v", reply)
		assert.Zero(t, got, "no outcome beside an error")
	}
	_, err := lua.DecodeAcquire([]any{"x"})
	assert.EqualError(t, err, "lua: acquire: unexpected reply [x] ([]interface {})", "it says what came")
}

func TestDecodeAcquireReadsTheTTL(t *testing.T) {
	for reply, want := range map[int64]time.Duration{-1: lua.NoTTL, 0: 0, 1: time.Millisecond, 30_000: 30 * time.Second} {
		got, err := lua.DecodeAcquire(reply)
		require.NoError(t, err)
		assert.Equal(t, taken(want), got)
	}
}
