package rlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// hear subscribes to a channel; the function it returns lists the messages since it was last called.
func hear(t *testing.T, raw *redis.Client, channel string) func() []string {
	t.Helper()
	ps := raw.Subscribe(t.Context(), channel)
	t.Cleanup(func() { _ = ps.Close() })
	return func() (texts []string) {
		t.Helper()
		for _, m := range receive(t, raw, ps, channel) {
			texts = append(texts, m.Payload)
		}
		return texts
	}
}

// hearKeys listens to the server's notifications; the function it returns lists the keys that were touched in any way.
func hearKeys(t *testing.T, raw *redis.Client) func() map[string]bool {
	t.Helper()
	const keyspace = "__keyspace@0__:"
	ps := raw.PSubscribe(t.Context(), keyspace+"*")
	t.Cleanup(func() { _ = ps.Close() })
	receive(t, raw, ps, keyspace)
	return func() map[string]bool {
		t.Helper()
		keys := map[string]bool{}
		for _, m := range receive(t, raw, ps, keyspace) {
			keys[strings.TrimPrefix(m.Channel, keyspace)] = true
		}
		return keys
	}
}

// receive reads what was published until now: all that comes before a message of its own to that channel.
func receive(t *testing.T, raw *redis.Client, ps *redis.PubSub, channel string) (got []*redis.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const end = "the end"
	eventually(t, func() bool { return raw.Publish(ctx, channel, end).Val() > 0 }, "subscribed")
	for {
		m, err := ps.ReceiveMessage(ctx)
		require.NoError(t, err)
		if m.Payload == end {
			return got
		}
		got = append(got, m)
	}
}
