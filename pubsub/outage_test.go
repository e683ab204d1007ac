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

func TestAKilledConnectionIsReplacedAndAllAreWoken(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	h := start(t, server.Client(t), pubsub.Config{})
	subs := append(listenAll(t, h, "c%d", 20), listenMany(t, h, "c0", 3)...)
	kill(t, admin)
	for _, s := range subs {
		token(t, s)
		assert.True(t, s.Confirmed())
	}
	assertHeard(t, h, admin)
}

func TestKilledAgainWhileSubscribingAgain(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	h := start(t, server.Client(t), pubsub.Config{})
	subs := listenAll(t, h, "c%d", 1000)
	kill(t, admin)
	eventually(t, func() bool { return subscribers(t, admin) > 0 }, "about to subscribe again")
	kill(t, admin)
	began := time.Now()
	for i, s := range subs {
		settle(t, s)
		require.NoError(t, admin.Publish(t.Context(), fmt.Sprintf("c%d", i), "0").Err())
		token(t, s)
	}
	assert.Less(t, time.Since(began), patience/2)
	eventually(t, func() bool { return subscribers(t, admin) == 1 }, "one connection in the end")
}

// The second cut comes at every moment of what the first one sets off: the pause, the greeting, the subscriptions, the quiet after.
func TestCutTwiceAtAnyInterval(t *testing.T) {
	for interval := time.Duration(0); interval < 300*time.Millisecond; interval += 7 * time.Millisecond {
		bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
			f.latency = func([]string) time.Duration { return 20 * time.Millisecond }
			subs := listenAll(t, h, "c%d", 50)
			f.cut()
			time.Sleep(interval)
			f.cut()
			for i, s := range subs {
				settle(t, s)
				f.publish(fmt.Sprintf("c%d", i))
				token(t, s)
			}
			assert.False(t, f.last().gone())
			for _, l := range f.all()[:len(f.all())-1] {
				assert.True(t, l.gone(), "one connection in the end")
			}
		})
	}
}

func TestMessagesInTheGapAreMadeUpFor(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	h := start(t, server.Client(t), pubsub.Config{Backoff: pubsub.Backoff{Max: 50 * time.Millisecond}})
	s := listen(t, h, "a")
	for range 20 {
		require.NoError(t, admin.Set(t.Context(), "state", "held", 0).Err())
		pipe := admin.TxPipeline() // the release falls into the gap for certain
		pipe.ClientKillByFilter(t.Context(), "type", "pubsub")
		pipe.Del(t.Context(), "state")
		pipe.Publish(t.Context(), "a", "0")
		_, err := pipe.Exec(t.Context())
		require.NoError(t, err)
		token(t, s)
		require.Zero(t, admin.Exists(t.Context(), "state").Val())
		settle(t, s)
	}
}

func TestAFrozenServerIsFoundOut(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	h := start(t, server.Client(t), pubsub.Config{Ping: 500 * time.Millisecond})
	s := listen(t, h, "a")
	server.Pause()
	began := time.Now()
	eventually(t, func() bool { return !s.Confirmed() }, "confirmed by a frozen server")
	assert.Less(t, time.Since(began), 5*time.Second)
	server.Resume()
	settle(t, s)
	assertHeard(t, h, admin)
}

func TestARestartedServerIsSubscribedToAgain(t *testing.T) {
	server := redistest.Start(t)
	h := start(t, server.Client(t), pubsub.Config{})
	subs := listenAll(t, h, "c%d", 100)
	server.Kill()
	for _, s := range subs {
		for !s.Polling() {
			token(t, s)
		}
		assert.False(t, s.Confirmed())
	}
	server.Restart(false)
	for _, s := range subs {
		settle(t, s)
		assert.False(t, s.Polling())
	}
	assertHeard(t, h, server.Raw(t))
}

func kill(t testing.TB, admin *redis.Client) {
	t.Helper()
	require.NoError(t, admin.ClientKillByFilter(t.Context(), "type", "pubsub").Err())
}

// assertHeard makes sure that the connection works and is the only one.
func assertHeard(t testing.TB, h *pubsub.Hub, admin *redis.Client) {
	t.Helper()
	s := listen(t, h, "heard")
	defer s.Close()
	require.NoError(t, admin.Publish(t.Context(), "heard", "0").Err())
	token(t, s)
	eventually(t, func() bool { return subscribers(t, admin) == 1 }, "one connection in the end")
}
