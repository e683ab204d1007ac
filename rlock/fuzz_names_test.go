package rlock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// FuzzNames: whatever the name and the prefix in front of it, a lock that a ClusterClient accepts has its key and its channel in
// one slot, by the rule of Redis Cluster written down once more here; and no name is refused that would have had them there.
// On a single server every name but the empty one is good, since Java peers use them all.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"order:42", "{a}b", "a{b}c", "{}", "{", "}{", "a{}b{c}", "{a", "größe 1", ""} {
		f.Add("", name)
		f.Add("shop{1}:", name)
	}
	single := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	f.Cleanup(func() { _, _ = single.Close(), cluster.Close() })
	f.Fuzz(func(t *testing.T, prefix, name string) {
		raw := prefix + name
		channel := rlock.ChannelOf(raw)
		require.True(t, strings.HasPrefix(channel, "redisson_lock__channel:"))
		together := name != "" && slotOf(raw) == slotOf(channel)
		require.Equal(t, name != "", accepts(t, single, prefix, name))
		if accepts(t, cluster, prefix, name) {
			require.True(t, together, "key %q in slot %d, channel %q in slot %d", raw, slotOf(raw), channel, slotOf(channel))
		} else if together { // by the same tag, and not by one of 16,384 chances
			require.NotEqual(t, tagOf(raw), tagOf(channel), "refused without need")
		}
	})
}

// accepts asks by a verb that needs no server: there is nothing to give back.
func accepts(t *testing.T, rdb redis.UniversalClient, prefix, name string) bool {
	t.Helper()
	c, err := rlock.New(rdb, rlock.WithKeyPrefix(prefix))
	require.NoError(t, err)
	err = c.NewLock(name).Unlock(someone())
	require.Error(t, err)
	require.NoError(t, c.Close(context.Background()))
	var refusal *rlock.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, name, refusal.Lock)
	return strings.Contains(err.Error(), "not held")
}

// slotOf is HASH_SLOT of the cluster specification.
func slotOf(key string) int { return int(crc16(tagOf(key)) % 16384) }

// tagOf looks at the bytes from left to right: the first "{" that has a "}" somewhere behind it, with something in between,
// and the first "}" counts; later braces never do.
func tagOf(key string) string {
	for i := range len(key) {
		if key[i] != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' && j > i+1 {
				return key[i+1 : j]
			}
			if key[j] == '}' {
				return key
			}
		}
		return key
	}
	return key
}

// crc16 is CRC-16/XMODEM, bit by bit.
func crc16(text string) (crc uint16) {
	for i := range len(text) {
		crc ^= uint16(text[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc
}
