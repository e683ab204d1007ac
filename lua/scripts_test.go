package lua_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
)

// The actors of the tables. Fields look as rlock's do, but no script looks into them.
const (
	mine   = "app:c1~1"
	older  = "app:c1~0" // an earlier attempt of mine
	oldest = "app:c1~00"
	next   = "app:c1~2" // who waits in the process of mine
	rival  = "other:17"
)

// Far apart, so that a busy machine cannot make one look like another.
const (
	short = 30 * time.Second
	long  = 10 * time.Minute
	ages  = 24 * time.Hour
)

// state is what Redis holds under a lock's name. No fields: no key.
type state struct {
	fields map[string]string
	ttl    time.Duration
}

var free = state{}

func held(ttl time.Duration, fieldsAndCounts ...string) state {
	s := state{fields: map[string]string{}, ttl: ttl}
	for pair := range slices.Chunk(fieldsAndCounts, 2) {
		s.fields[pair[0]] = pair[1]
	}
	return s
}

// scriptCase is one row: from before, call leads to want and after, with that many messages. again, if there is one, is
// what the same call says when it arrives a second time; it must change nothing and tell nobody.
type scriptCase struct {
	name     string
	before   state
	call     func(key, channel string) lua.Call
	decode   func(reply any) (any, error)
	want     any
	after    state
	messages int
	again    any
}

func TestScripts(t *testing.T) {
	cases := slices.Concat(acquireCases, releaseCases, handOverCases, renewCases, forceCases, readCases)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rdb *redis.Client) { c.run(t, rdb) })
		})
	}
}

func (c scriptCase) run(t *testing.T, rdb *redis.Client) {
	t.Helper()
	key, channel := names(t)
	put(t, rdb, key, c.before)
	ear := listen(t, rdb, channel)
	call := c.call(key, channel)

	assertReply(t, c.want, c.answer(t, rdb, call))
	assertState(t, rdb, key, c.after)
	assert.Equal(t, c.messages, ear.heard(t), "messages")
	if c.again == nil {
		return
	}
	assertReply(t, c.again, c.answer(t, rdb, call))
	assertState(t, rdb, key, c.after)
	assert.Zero(t, ear.heard(t), "messages of the repeat")
}

func (c scriptCase) answer(t *testing.T, rdb *redis.Client, call lua.Call) any {
	t.Helper()
	reply, err := run(t, rdb, call)
	require.NoError(t, err)
	require.NotNil(t, reply, "a reply is never nil")
	decoded, err := c.decode(reply)
	require.NoError(t, err)
	return decoded
}

// Every script meets a key that is something else: the server's error, and nothing done.
func TestWrongType(t *testing.T) {
	for name, build := range builders {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rdb *redis.Client) {
				key, channel := names(t)
				require.NoError(t, rdb.Set(t.Context(), key, "a string", long).Err())
				ear := listen(t, rdb, channel)

				_, err := run(t, rdb, build(key, channel))
				require.ErrorContains(t, err, "WRONGTYPE")

				assert.Equal(t, "a string", rdb.Get(t.Context(), key).Val())
				assertTTL(t, long, rdb.PTTL(t.Context(), key).Val())
				assert.Zero(t, ear.heard(t))
			})
		})
	}
}

// builders has one call of each script.
var builders = map[string]func(key, channel string) lua.Call{
	"acquire": func(key, _ string) lua.Call {
		return lua.Acquire(key, mine, 1, short, lua.Orphans{Channel: "waiters", Fields: []string{older}})
	},
	"release":  func(key, channel string) lua.Call { return lua.Release(key, channel, mine, 0, 0) },
	"handover": func(key, channel string) lua.Call { return lua.HandOver(key, channel, mine, next, short) },
	"renew":    func(key, _ string) lua.Call { return lua.Renew(key, mine, short) },
	"read":     func(key, _ string) lua.Call { return lua.Read(key) },
	"force": func(key, channel string) lua.Call {
		return lua.Force(key, channel, []string{mine}, time.Now().Add(time.Hour).UnixMicro())
	},
}
