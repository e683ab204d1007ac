package pubsub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/pubsub"
)

func TestWithoutChannelRightsWaitersPoll(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			server := redistest.Start(t)
			admin := server.Raw(t)
			log := &records{}
			h := start(t, restricted(t, server, protocol, "resetchannels"),
				pubsub.Config{Retry: 50 * time.Millisecond, Logger: log.logger()})
			subs := make([]*pubsub.Subscription, 20)
			for i := range subs {
				subs[i] = h.Subscribe(fmt.Sprintf("c%d", i))
			}
			for _, s := range subs {
				token(t, s)
				assert.True(t, s.Polling())
				assert.False(t, s.Confirmed())
			}
			assert.True(t, h.Subscribe("c0").Polling())
			eventually(t, func() bool { return log.warnings() == 1 }, "a warning")

			allow(t, admin, "allchannels")
			for i, s := range subs {
				settle(t, s)
				assert.False(t, s.Polling())
				require.NoError(t, admin.Publish(t.Context(), fmt.Sprintf("c%d", i), "0").Err())
			}
			for _, s := range subs[1:] { // c0 has a second subscription
				token(t, s)
			}
			assert.Equal(t, 1, log.warnings())
			assert.Equal(t, 1, subscribers(t, admin))
		})
	}
}

func TestRightsForSomeChannels(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	h := start(t, restricted(t, server, 2, "resetchannels", "&yes:*"), pubsub.Config{})
	yes, no := make([]*pubsub.Subscription, 10), make([]*pubsub.Subscription, 10)
	for i := range yes {
		yes[i], no[i] = h.Subscribe(fmt.Sprintf("yes:%d", i)), h.Subscribe(fmt.Sprintf("no:%d", i))
	}
	for i := range yes {
		settle(t, yes[i])
		token(t, no[i])
		assert.True(t, no[i].Polling())
		assert.False(t, yes[i].Polling())
	}
	kill(t, admin)
	for _, s := range yes {
		token(t, s)
		assert.True(t, s.Confirmed())
	}
}

func TestRightsTakenAwayAndGivenBack(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	h := start(t, restricted(t, server, 3, "allchannels"), pubsub.Config{Retry: 50 * time.Millisecond})
	s := listen(t, h, "a")
	allow(t, admin, "resetchannels") // the server hangs up on subscribers that lose a right
	token(t, s)
	assert.True(t, s.Polling())
	allow(t, admin, "allchannels")
	settle(t, s)
	s.Close()
}

// restricted is a client of a user who may do everything except hear channels
// beyond what rights say.
func restricted(t *testing.T, server *redistest.Server, protocol int, rights ...string) *redis.Client {
	t.Helper()
	allow(t, server.Raw(t), rights...)
	return server.Client(t, func(o *redis.Options) {
		o.Username, o.Password, o.Protocol = "waiter", "secret", protocol
	})
}

func allow(t *testing.T, admin *redis.Client, rights ...string) {
	t.Helper()
	words := []any{"acl", "setuser", "waiter", "on", ">secret", "allkeys", "allcommands"}
	for _, right := range rights {
		words = append(words, right)
	}
	require.NoError(t, admin.Do(t.Context(), words...).Err())
}
