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

// P1, P6: an operator took the expiry away (PERSIST). A look gives the key one again; what has an expiry it leaves as it is, be it
// shorter or longer, and so it does with what is not its own. Looking twice is looking once.
func TestFault_A6_ALookMendsAKeyWithoutExpiry(t *testing.T) {
	for name, c := range map[string]struct {
		before, after state
		rest          time.Duration
		held          bool
	}{
		"persisted":             {held(lua.NoTTL, mine, "2"), held(long, mine, "2"), long, true},
		"persisted, with more":  {held(lua.NoTTL, mine, "2", rival, "1"), held(long, mine, "2", rival, "1"), long, true},
		"persisted, no rest":    {held(lua.NoTTL, mine, "1"), held(lua.NoTTL, mine, "1"), 0, true},
		"shorter":               {held(short, mine, "1"), held(short, mine, "1"), long, true},
		"longer":                {held(ages, mine, "1"), held(ages, mine, "1"), long, true},
		"another's":             {held(short, rival, "1"), held(short, rival, "1"), long, false},
		"another's, persisted":  {held(lua.NoTTL, rival, "1"), held(lua.NoTTL, rival, "1"), long, false},
		"nobody's":              {free, free, long, false},
		"persisted, negligible": {held(lua.NoTTL, mine, "1"), held(lua.NoTTL, mine, "1"), -time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rdb *redis.Client) {
				key, channel := names(t)
				put(t, rdb, key, c.before)
				ear := listen(t, rdb, channel)
				for range 2 {
					reply, err := run(t, rdb, lua.Look(key, mine, c.rest))
					require.NoError(t, err)
					got, err := lua.DecodeRenew(reply)
					require.NoError(t, err)
					assert.Equal(t, c.held, got)
					assertState(t, rdb, key, c.after)
				}
				assert.Zero(t, ear.heard(t), "nobody is told of it")
			})
		})
	}
}

// P3, P6: every command that makes a key or finds its own sees to it that it expires, whatever was there before.
func TestFault_A6_WhatIsGrantedExpires(t *testing.T) {
	for name, before := range map[string]state{
		"free": free, "mine": held(lua.NoTTL, mine, "1"), "mine, with an expiry": held(short, mine, "1"),
		"given up": held(lua.NoTTL, older, "1"),
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rdb *redis.Client) {
				key, channel := names(t)
				put(t, rdb, key, before)
				reply, err := run(t, rdb, lua.Acquire(key, mine, 1, long, lua.Orphans{Channel: channel, Fields: []string{older}}))
				require.NoError(t, err)
				require.Equal(t, int64(-2), reply)
				assertState(t, rdb, key, held(long, mine, "1"))
			})
		})
	}
}

// P7, P11: the key in the way expires in five hundred years; Redis keeps such keys, and a Java peer may make them. A waiter is told
// of a long time, not of one that wrapped around to next to nothing, or to less.
func TestFault_A6_AnExpiryBeyondAllDurationsIsLong(t *testing.T) {
	rdb := redistest.Shared(t).Raw(t) // the double counts in Durations itself
	key, _ := names(t)
	put(t, rdb, key, held(lua.NoTTL, rival, "1"))
	require.NoError(t, rdb.Do(t.Context(), "PEXPIRE", key, 18_446_744_073_710).Err()) // as a Duration it is 448 µs

	reply, err := run(t, rdb, lua.Acquire(key, mine, 1, short, lua.Orphans{}))
	require.NoError(t, err)
	got, err := lua.DecodeAcquire(reply)
	require.NoError(t, err)
	assert.Greater(t, got.TTL, ages)
	assert.Greater(t, got.TTL+time.Millisecond, got.TTL, "there is room to add to it")

	reply, err = run(t, rdb, lua.Read(key))
	require.NoError(t, err)
	contents, err := lua.DecodeRead(reply)
	require.NoError(t, err)
	assert.Greater(t, contents.TTL, ages)
}
