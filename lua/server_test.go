package lua_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/lua"
)

// What follows only a real server can show: its memory limit and its access rules.

// A server out of memory must still let locks go and live on; and what it refuses it must not have half done.
func TestOutOfMemory(t *testing.T) {
	server := redistest.Start(t, redistest.Config("maxmemory-policy", "noeviction"))
	rdb := server.Raw(t)
	key, channel := names(t)
	in := time.Now().Add(time.Hour).UnixMicro()

	for _, c := range []struct {
		name     string
		before   state
		call     lua.Call
		want     any // nil: refused
		after    state
		messages int
	}{
		{"new hold", free, lua.Acquire(key, mine, 1, short, lua.Orphans{}), nil, free, 0},
		{"takeover", held(long, older, "1"), lua.Acquire(key, mine, 1, short, lua.Orphans{Channel: "waiters", Fields: []string{older}}), nil, held(long, older, "1"), 0},
		{"level", held(short, mine, "1"), lua.Acquire(key, mine, 2, long, lua.Orphans{}), nil, held(short, mine, "1"), 0},
		{"same level", held(short, mine, "2"), lua.Acquire(key, mine, 2, long, lua.Orphans{}), int64(-2), held(long, mine, "2"), 0},
		{"renew", held(short, mine, "1"), lua.Renew(key, mine, long), int64(1), held(long, mine, "1"), 0},
		{"inner release", held(long, mine, "3"), lua.Release(key, channel, mine, 2, 0), int64(1), held(long, mine, "2"), 0},
		{"raising release", held(short, mine, "3"), lua.Release(key, channel, mine, 1, long), int64(1), held(long, mine, "1"), 0},
		{"last release", held(short, mine, "1"), lua.Release(key, channel, mine, 0, 0), int64(2), free, 1},
		{"hand-over", held(long, mine, "2"), lua.HandOver(key, channel, mine, next, short), int64(-2), held(short, next, "1"), 1},
		{"repeated hand-over", held(short, next, "1"), lua.HandOver(key, channel, mine, next, long), int64(-2), held(long, next, "1"), 0},
		{"force", held(short, rival, "1"), lua.Force(key, channel, []string{rival}, in), int64(1), free, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			put(t, rdb, key, c.before)
			ear := listen(t, rdb, channel)
			setMaxMemory(t, rdb, "1")
			defer setMaxMemory(t, rdb, "0")

			reply, err := run(t, rdb, c.call)
			if c.want == nil {
				require.ErrorContains(t, err, "OOM")
			} else {
				require.NoError(t, err)
				assert.Equal(t, c.want, reply)
			}
			assertState(t, rdb, key, c.after)
			assert.Equal(t, c.messages, ear.heard(t))
		})
	}
}

// A master that was demoted under its clients may lag behind the new one. Nothing that it says proves anything: not that a
// hold is lost, nor that it is there, nor that a lock is taken.
func TestReplicaProvesNothing(t *testing.T) {
	server := redistest.Start(t)
	rdb := server.Raw(t)
	key, channel := names(t)
	put(t, rdb, key, held(long, rival, "1"))
	put(t, rdb, key+"mine", held(long, mine, "2"))
	put(t, rdb, key+"next", held(long, next, "1"))
	require.NoError(t, rdb.Do(t.Context(), "REPLICAOF", "127.0.0.1", 1).Err(), "a master that is not there")

	for name, call := range map[string]lua.Call{
		"level":                  lua.Acquire(key, mine, 2, short, lua.Orphans{}),
		"renew":                  lua.Renew(key, mine, long),
		"look":                   lua.Renew(key, mine, 0),
		"look, no key":           lua.Renew(key+"?", mine, 0),
		"inner release":          lua.Release(key, channel, mine, 1, 0),
		"last release":           lua.Release(key, channel, mine, 0, 0),
		"hand-over":              lua.HandOver(key+"mine", channel, mine, next, short),
		"hand-over, done":        lua.HandOver(key+"next", channel, mine, next, short),
		"hand-over, lost":        lua.HandOver(key, channel, mine, next, short),
		"hand-over, no key":      lua.HandOver(key+"?", channel, mine, next, short),
		"new hold":               lua.Acquire(key+"?", mine, 1, short, lua.Orphans{}),
		"force":                  lua.Force(key, channel, []string{mine}, time.Now().Add(time.Hour).UnixMicro()),
		"taken":                  lua.Acquire(key, mine, 1, short, lua.Orphans{}),
		"taken, given up fields": lua.Acquire(key, mine, 1, short, lua.Orphans{Channel: channel, Fields: []string{older}}),
		"same level":             lua.Acquire(key+"mine", mine, 2, short, lua.Orphans{}),
		"renew, enough":          lua.Renew(key+"mine", mine, short),
		"look, held":             lua.Renew(key+"mine", mine, 0),
		"read":                   lua.Read(key),
		"read, free":             lua.Read(key + "?"),
	} {
		reply, err := run(t, rdb, call)
		require.Error(t, err, "%s: %v", name, reply)
		assert.ErrorContains(t, err, "READONLY", name)
	}
	assertState(t, rdb, key, held(long, rival, "1"))
	assertState(t, rdb, key+"mine", held(long, mine, "2"))
	assertState(t, rdb, key+"next", held(long, next, "1"))
}

// withoutReplicas is a master that wants replicas for writing, and has none, with that under a key.
func withoutReplicas(t *testing.T, key string, s state) *redis.Client {
	t.Helper()
	rdb := redistest.Start(t).Raw(t)
	put(t, rdb, key, s)
	require.NoError(t, rdb.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	return rdb
}

// A master that lacks replicas refuses what it would have to write. What it knows is no less true.
func TestMasterWithoutReplicasAnswersWhatItCan(t *testing.T) {
	key, _ := names(t)
	rdb := withoutReplicas(t, key, held(long, rival, "1"))

	reply, err := run(t, rdb, lua.Acquire(key, mine, 1, short, lua.Orphans{}))
	require.NoError(t, err)
	assert.Positive(t, reply, "taken")
	_, err = run(t, rdb, lua.Read(key))
	require.NoError(t, err)
	reply, err = run(t, rdb, lua.Renew(key, rival, 0))
	require.NoError(t, err)
	assert.Equal(t, int64(1), reply)
	require.ErrorContains(t, rdb.Set(t.Context(), key+"?", "", 0).Err(), "NOREPLICAS")
}

// What a hand-over would have to write is refused before anything is done.
func TestMasterWithoutReplicasHandsNothingOver(t *testing.T) {
	key, channel := names(t)
	rdb := withoutReplicas(t, key, held(long, mine, "1"))

	_, err := run(t, rdb, lua.HandOver(key, channel, mine, next, short))
	require.ErrorContains(t, err, "NOREPLICAS")
	assertState(t, rdb, key, held(long, mine, "1"))
}

// Who may not publish can still give his lock back; the waiters have to look for themselves.
func TestPublishForbidden(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	mute := login(t, server, "mute", "~*", "+@all", "resetchannels")
	key, channel := names(t)
	ear := listen(t, admin, channel)
	require.ErrorContains(t, mute.Publish(t.Context(), channel, "0").Err(), "NOPERM")

	for name, call := range map[string]lua.Call{
		"release": lua.Release(key, channel, mine, 0, 0),
		"force":   lua.Force(key, channel, []string{mine}, time.Now().Add(time.Hour).UnixMicro()),
	} {
		put(t, admin, key, held(short, mine, "1"))
		reply, err := run(t, mute, call)
		require.NoError(t, err, name)
		assert.NotZero(t, reply, name)
		assertState(t, admin, key, free)
		assert.Zero(t, ear.heard(t), name)
	}
}

// The same goes for handing over: who sleeps on the longer TTL looks when it is over.
func TestPublishForbidden_HandOver(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	mute := login(t, server, "mute", "~*", "+@all", "resetchannels")
	key, channel := names(t)
	ear := listen(t, admin, channel)
	put(t, admin, key, held(long, mine, "1"))

	reply, err := run(t, mute, lua.HandOver(key, channel, mine, next, short))
	require.NoError(t, err)
	assert.Equal(t, int64(-2), reply)
	assertState(t, admin, key, held(short, next, "1"))
	assert.Zero(t, ear.heard(t))
}

// Access rules on keys need not name the channel, which is none.
func TestKeyRulesDoNotNameTheChannel(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	key, channel := names(t)
	narrow := login(t, server, "narrow", "~"+key, "resetchannels", "&"+channel, "+@all")
	put(t, admin, key, held(short, mine, "1"))
	ear := listen(t, admin, channel)

	reply, err := run(t, narrow, lua.Release(key, channel, mine, 0, 0))
	require.NoError(t, err)
	assert.Equal(t, int64(2), reply)
	assert.Equal(t, 1, ear.heard(t))
}

// A lock that cannot be given an expiry must not be left behind without one.
func TestExpiryForbidden(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	key, _ := names(t)
	user := login(t, server, "timeless", "~*", "&*", "+@all", "-pexpire")

	for name, before := range map[string]state{"free": free, "given up": held(long, older, "1")} {
		put(t, admin, key, before)
		_, err := run(t, user, lua.Acquire(key, mine, 1, short, lua.Orphans{Channel: "waiters", Fields: []string{older}}))
		require.Error(t, err, name)
		assert.Regexp(t, "can't run|permissions", err.Error(), "%s: the words differ from version to version", name)
		assertState(t, admin, key, free)
	}

	put(t, admin, key, held(short, mine, "1"))
	_, err := run(t, user, lua.Acquire(key, mine, 2, long, lua.Orphans{}))
	require.Error(t, err)
	assertState(t, admin, key, held(short, mine, "1")) // a level that was refused is not counted
}

// A hold whose lease cannot be set is not handed over, and stays as it was. So does that which was there under the other field.
func TestExpiryForbidden_HandOver(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	key, channel := names(t)
	user := login(t, server, "timeless", "~*", "&*", "+@all", "-pexpire")
	ear := listen(t, admin, channel)

	for name, before := range map[string]state{
		"to a new field":       held(long, mine, "2"),
		"to one that is there": held(long, mine, "2", next, "3"),
		"persisted":            held(lua.NoTTL, mine, "1"),
		"beside another":       held(long, mine, "1", rival, "2"),
		"repeat":               held(time.Minute, next, "1"),
	} {
		put(t, admin, key, before)
		_, err := run(t, user, lua.HandOver(key, channel, mine, next, 2*time.Minute))
		require.Error(t, err, name)
		assert.Regexp(t, "can't run|permissions", err.Error(), "%s: the words differ from version to version", name)
		assertState(t, admin, key, before)
		assert.Zero(t, ear.heard(t), name)
	}
}

// Who may not write is refused before anything is done.
func TestScriptsForbidden(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	key, channel := names(t)
	reader := login(t, server, "reader", "~*", "&*", "+@all", "-@write")
	before := held(short, mine, "2")
	put(t, admin, key, before)

	for name, call := range map[string]lua.Call{
		"level":   lua.Acquire(key, mine, 3, long, lua.Orphans{}),
		"renew":   lua.Renew(key, mine, long),
		"inner":   lua.Release(key, channel, mine, 1, 0),
		"release": lua.Release(key, channel, mine, 0, 0),
		"hand":    lua.HandOver(key, channel, mine, next, long),
		"handed":  lua.HandOver(key, channel, next, mine, long),
		"force":   lua.Force(key, channel, []string{mine}, time.Now().Add(time.Hour).UnixMicro()),
	} {
		_, err := run(t, reader, call)
		require.Error(t, err, name)
		assertState(t, admin, key, before)
	}
}

// login makes a user by rules and a client of his.
func login(t *testing.T, server *redistest.Server, name string, rules ...string) *redis.Client {
	t.Helper()
	words := []any{"ACL", "SETUSER", name, "on", ">secret"}
	for _, rule := range rules {
		words = append(words, rule)
	}
	require.NoError(t, server.Raw(t).Do(t.Context(), words...).Err())
	return server.Client(t, func(o *redis.Options) { o.Username, o.Password = name, "secret" })
}

func setMaxMemory(t *testing.T, rdb *redis.Client, value string) {
	t.Helper()
	require.NoError(t, rdb.ConfigSet(t.Context(), "maxmemory", value).Err())
}
