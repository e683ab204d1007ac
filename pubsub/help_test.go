package pubsub_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/pubsub"
)

// patience is how long a test waits for what should come at once: much, for a
// busy machine.
const patience = 20 * time.Second

// start makes a hub on a client, closed at the end of the test.
func start(t testing.TB, rdb *redis.Client, cfg pubsub.Config) *pubsub.Hub {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := pubsub.NewHub(opener(rdb), cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, h.Close(ctx))
	})
	return h
}

func opener(rdb *redis.Client) func(context.Context) *redis.PubSub {
	return func(ctx context.Context) *redis.PubSub { return rdb.Subscribe(ctx) }
}

// listen subscribes and waits until the server has confirmed that; no token is
// left.
func listen(t testing.TB, h *pubsub.Hub, channel string) *pubsub.Subscription {
	t.Helper()
	s := h.Subscribe(channel)
	settle(t, s)
	return s
}

func listenAll(t testing.TB, h *pubsub.Hub, format string, n int) []*pubsub.Subscription {
	t.Helper()
	subs := make([]*pubsub.Subscription, n)
	for i := range subs {
		subs[i] = h.Subscribe(fmt.Sprintf(format, i))
	}
	for _, s := range subs {
		settle(t, s)
	}
	return subs
}

// settle reads tokens until the subscription is confirmed, and the one that
// told so.
func settle(t testing.TB, s *pubsub.Subscription) {
	t.Helper()
	for !s.Confirmed() {
		token(t, s)
	}
	drain(s)
}

func token(t testing.TB, s *pubsub.Subscription) {
	t.Helper()
	select {
	case <-s.Wake():
	case <-time.After(patience):
		require.FailNow(t, "no token came")
	}
}

// drain reads the token if there is one.
func drain(s *pubsub.Subscription) bool {
	select {
	case <-s.Wake():
		return true
	default:
		return false
	}
}

// awake counts the subscriptions that have a token and reads it.
func awake(subs ...*pubsub.Subscription) int {
	n := 0
	for _, s := range subs {
		if drain(s) {
			n++
		}
	}
	return n
}

func closeAll(subs ...*pubsub.Subscription) {
	for _, s := range subs {
		s.Close()
	}
}

func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, patience, 2*time.Millisecond, what)
}

// records is a logger's memory.
type records struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *records) warnings() int {
	return r.count("level=WARN")
}

func (r *records) count(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Count(r.text.Bytes(), []byte(text))
}

func (r *records) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
