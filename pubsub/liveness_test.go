package pubsub_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/pubsub"
)

func TestSilenceIsBrokenByPings(t *testing.T) {
	bubble(t, pubsub.Config{Ping: 2 * time.Second}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s := listen(t, h, "a")
		time.Sleep(time.Minute + time.Second)
		assert.Len(t, f.sent("ping"), 30)
		for range 60 { // messages are signs of life
			f.publish("a")
			token(t, s)
			time.Sleep(time.Second)
		}
		assert.Len(t, f.sent("ping"), 30)
		assert.Len(t, f.all(), 1)
	})
}

func TestABlackHoleIsFoundAndLeft(t *testing.T) {
	for name, kill := range map[string]func(f *fake){
		"nothing is answered": func(f *fake) { f.last().mute() },
		"nothing is read":     func(f *fake) { f.last().stall() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, pubsub.Config{Ping: 2 * time.Second}, func(t *testing.T, f *fake, h *pubsub.Hub) {
				s := listen(t, h, "a")
				hole := f.last()
				kill(f)
				began := time.Now()
				token(t, s)
				assert.True(t, s.Confirmed())
				assert.Less(t, time.Since(began), 4200*time.Millisecond)
				assert.NotSame(t, hole, f.last())
				f.publish("a")
				token(t, s)
			})
		})
	}
}

func TestAnUnansweredSubscribeIsABlackHoleToo(t *testing.T) {
	bubble(t, pubsub.Config{Ping: 2 * time.Second}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "a")
		time.Sleep(time.Second)
		f.last().mute()
		s := h.Subscribe("b")
		began := time.Now()
		settle(t, s)
		assert.Less(t, time.Since(began), 2200*time.Millisecond)
	})
}

func TestAConnectionThatNeverComesUpIsGivenUp(t *testing.T) {
	bubble(t, pubsub.Config{Connect: 3 * time.Second, Backoff: promptly}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.deaf = true
		s := h.Subscribe("a")
		time.Sleep(time.Second)
		f.set(func() { f.deaf = false })
		settle(t, s)
		assert.Equal(t, []time.Duration{0, 3*time.Second + next}, f.dials())
		time.Sleep(time.Minute)
		_, err := f.all()[0].conn.Write([]byte("x"))
		assert.Error(t, err, "the first was closed when go-redis let go of it")
	})
}

func TestASlowConnectionGetsTheTimeToConnectOnce(t *testing.T) {
	cfg := pubsub.Config{Ping: 2 * time.Second, Connect: 20 * time.Second, Backoff: promptly}
	bubble(t, cfg, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.latency = func(words []string) time.Duration {
			switch {
			case len(f.all()) > 1:
				return 0
			case words[0] == "subscribe":
				return time.Hour
			default:
				return 1500 * time.Millisecond // the greeting and two requests that introduce the client
			}
		}
		settle(t, h.Subscribe("a"))
		assert.Equal(t, []time.Duration{0, 4500*time.Millisecond + 2*time.Second + next}, f.dials())
		assert.Len(t, f.all(), 2)
	})
}

func TestOpenMayHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		rdb := f.client()
		defer f.cut()
		defer func() { _ = rdb.Close() }()
		tries := 0
		h := pubsub.NewHub(func(ctx context.Context) *redis.PubSub {
			if tries++; tries == 1 {
				<-ctx.Done()
			}
			return rdb.Subscribe(ctx)
		}, pubsub.Config{Logger: (&records{}).logger()})
		began := time.Now()
		settle(t, h.Subscribe("a"))
		assert.InDelta(t, 7, time.Since(began).Seconds(), 0.2, "Ping and Connect")
		require.NoError(t, h.Close(t.Context()))
	})
}

func TestOpenMayHaveNothingToOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		rdb := f.client()
		defer f.cut()
		defer func() { _ = rdb.Close() }()
		tries := 0
		h := pubsub.NewHub(func(ctx context.Context) *redis.PubSub {
			if tries++; tries < 3 {
				return nil
			}
			return rdb.Subscribe(ctx)
		}, pubsub.Config{Logger: (&records{}).logger()})
		settle(t, h.Subscribe("a"))
		assert.Equal(t, 3, tries)
		require.NoError(t, h.Close(t.Context()))
	})
}
