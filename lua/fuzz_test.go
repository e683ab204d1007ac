package lua_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

// FuzzReplies: whatever comes back from a server, a proxy or another script's command, each decoder gives the answer that
// the script's header names for it, or an error and no answer at all. Above all nothing but -2 is a grant.
func FuzzReplies(f *testing.F) {
	for _, reply := range []any{
		int64(-2), int64(-3), int64(-1), int64(0), int64(1), int64(2), int64(-4), int64(29_999),
		int64(math.MaxInt64), int64(math.MinInt64), int64(18_446_744_073_710), // wraps around to next to nothing as a Duration
		nil, "OK", "-2", true, -2.0, errors.New("ERR no"),
		[]any{},
		[]any{int64(-2)},
		[]any{int64(1), int64(-2)},
		[]any{int64(1), int64(30_000), "app:c1~1", "2"},
		[]any{int64(1), int64(-1), "17", "1", "c1~2", "many"},
		[]any{int64(1), int64(5), "odd"},
		[]any{int64(1), "5"},
		[]any{int64(1), int64(5), nil, "1"},
		[]any{int64(1), int64(5), "f", int64(1)},
		map[any]any{"f": "1"},
	} {
		f.Add(pack(nil, reply))
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		reply, _ := unpack(packed, 3)
		checkAcquired(t, reply)
		checkReleased(t, reply)
		checkHandedOver(t, reply)
		checkYesOrNo(t, reply)
		checkRead(t, reply)
	})
}

func checkAcquired(t *testing.T, reply any) {
	t.Helper()
	got, err := lua.DecodeAcquire(reply)
	n, number := reply.(int64)
	switch {
	case !number || n < -3:
		requireNothing(t, got, err)
	case n == -2:
		require.Equal(t, lua.Acquired{Outcome: lua.Granted}, got)
	case n == -3:
		require.Equal(t, lua.Acquired{Outcome: lua.Lost}, got)
	default:
		require.NoError(t, err)
		require.Equal(t, lua.Taken, got.Outcome)
		requireTTL(t, n, got.TTL)
	}
}

func checkReleased(t *testing.T, reply any) {
	t.Helper()
	got, err := lua.DecodeRelease(reply)
	want, known := map[any]lua.ReleaseOutcome{
		int64(0): lua.NotHeld, int64(1): lua.Kept, int64(2): lua.Freed,
	}[asKey(reply)]
	if !known {
		requireNothing(t, got, err)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func checkHandedOver(t *testing.T, reply any) {
	t.Helper()
	got, err := lua.DecodeHandOver(reply)
	want, known := map[any]lua.ReleaseOutcome{int64(-2): lua.Kept, int64(-3): lua.NotHeld}[asKey(reply)]
	if !known {
		requireNothing(t, got, err)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func checkYesOrNo(t *testing.T, reply any) {
	t.Helper()
	for _, decode := range []func(any) (bool, error){lua.DecodeRenew, lua.DecodeForce} {
		got, err := decode(reply)
		if n, number := reply.(int64); !number || n < 0 || n > 1 {
			requireNothing(t, got, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, reply == int64(1), got)
	}
}

// checkRead: a list of two numbers and pairs of texts.
func checkRead(t *testing.T, reply any) {
	t.Helper()
	got, err := lua.DecodeRead(reply)
	items, list := reply.([]any)
	fits := list && len(items) >= 2 && len(items)%2 == 0
	for i, item := range items {
		_, number := item.(int64)
		_, text := item.(string)
		fits = fits && (i < 2 && number || i >= 2 && text)
	}
	if !fits || items[1].(int64) < -2 {
		requireNothing(t, got, err)
		return
	}
	require.NoError(t, err)
	require.Equal(t, items[0], got.At)
	require.Len(t, got.Fields, len(items)/2-1)
	for i, field := range got.Fields {
		count, _ := strconv.Atoi(items[3+2*i].(string))
		assert.Equal(t, items[2+2*i], field.Name)
		if count != math.MaxInt && count != math.MinInt { // beyond them Atoi gives the limit, and an error
			assert.Equal(t, count, field.Count)
		}
	}
	if pttl := items[1].(int64); pttl >= -1 {
		requireTTL(t, pttl, got.TTL)
	} else {
		assert.Zero(t, got.TTL)
	}
}

// requireTTL: a TTL is what the PTTL says, and a hundred years at least where that is more than can be said.
func requireTTL(t *testing.T, pttl int64, got time.Duration) {
	t.Helper()
	const century = 100 * 365 * 24 * time.Hour
	switch {
	case pttl == -1:
		require.Equal(t, lua.NoTTL, got)
	case pttl <= century.Milliseconds():
		require.Equal(t, time.Duration(pttl)*time.Millisecond, got)
	default:
		require.GreaterOrEqual(t, got, century)
		require.LessOrEqual(t, got.Milliseconds(), pttl)
		require.Positive(t, got+century/2, "it can be added to")
	}
}

func requireNothing(t *testing.T, got any, err error) {
	t.Helper()
	require.ErrorContains(t, err, "unexpected reply")
	require.Zero(t, got)
}

// asKey keeps what cannot be a key of a map away from one.
func asKey(reply any) any {
	switch reply.(type) {
	case []any, map[any]any:
		return nil
	}
	return reply
}

// The kinds of values that go-redis makes of replies.
const (
	packNil = iota
	packInt
	packString
	packList
	packBool
	packFloat
	packMap
	packError
	packKinds
)

// unpack reads one value off the bytes; what they lack is empty.
func unpack(in []byte, depth int) (value any, rest []byte) {
	if len(in) == 0 {
		return nil, nil
	}
	kind, in := in[0]%packKinds, in[1:]
	switch kind {
	case packInt:
		n, used := binary.Varint(in)
		return n, in[max(used, 0):]
	case packString, packError:
		text, rest := unpackString(in)
		if kind == packError {
			return errors.New(text), rest
		}
		return text, rest
	case packBool:
		return len(in)%2 == 1, in
	case packFloat:
		return -2.0, in
	case packMap:
		key, rest := unpackString(in)
		return map[any]any{key: int64(-2)}, rest
	case packList:
		return unpackList(in, depth)
	default:
		return nil, in
	}
}

func unpackList(in []byte, depth int) (value any, rest []byte) {
	list := []any{}
	if len(in) == 0 || depth == 0 {
		return list, in
	}
	n, in := int(in[0]%16), in[1:]
	for range n {
		var item any
		item, in = unpack(in, depth-1)
		list = append(list, item)
	}
	return list, in
}

func unpackString(in []byte) (text string, rest []byte) {
	if len(in) == 0 {
		return "", nil
	}
	n := min(int(in[0]), len(in)-1)
	return string(in[1 : 1+n]), in[1+n:]
}

// pack is the way back, for the seeds.
func pack(out []byte, value any) []byte {
	switch v := value.(type) {
	case int64:
		return binary.AppendVarint(append(out, packInt), v)
	case string:
		return append(append(out, packString, byte(len(v))), v...)
	case error:
		return append(append(out, packError, byte(len(v.Error()))), v.Error()...)
	case []any:
		out = append(out, packList, byte(len(v)))
		for _, item := range v {
			out = pack(out, item)
		}
		return out
	case bool:
		return append(out, packBool)
	case float64:
		return append(out, packFloat)
	case map[any]any:
		return append(out, packMap, 0)
	default:
		return append(out, packNil)
	}
}
