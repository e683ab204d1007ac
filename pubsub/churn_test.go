package pubsub_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/pubsub"
)

func TestChurnLeavesNothing(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Raw(t)
	rdb := server.Client(t)
	require.NoError(t, rdb.Ping(t.Context()).Err())
	before := goleak.IgnoreCurrent()
	h := start(t, rdb, pubsub.Config{Linger: 5 * time.Millisecond})
	var crowd sync.WaitGroup
	for range 50 {
		crowd.Go(func() { churn(t, h, publisher(t, rdb)) })
	}
	crowd.Wait()
	eventually(t, func() bool { return len(admin.PubSubChannels(t.Context(), "*").Val()) == 0 }, "channels of the server")
	eventually(t, func() bool { return h.Channels() == 0 }, "channels of the hub")
	eventually(t, func() bool { return subscribers(t, admin) == 0 }, "connection")
	goleak.VerifyNone(t, before, redistest.IgnoreServers())
	s := listen(t, h, "after all")
	assert.False(t, s.Polling())
}

// The same in virtual time, where those who come and go also rest, for longer than the channels linger now and then.
func TestRestlessChurnLeavesNothing(t *testing.T) {
	bubble(t, pubsub.Config{Linger: 5 * time.Millisecond}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.latency = func([]string) time.Duration { return rand.N(4 * time.Millisecond) }
		var crowd sync.WaitGroup
		for range 50 {
			crowd.Go(func() {
				for range 20 {
					churn(t, h, f.publish)
					time.Sleep(rand.N(20 * time.Millisecond))
				}
			})
		}
		crowd.Wait()
		time.Sleep(time.Second)
		assert.Zero(t, h.Channels())
		assert.True(t, f.last().gone(), "connection")
	})
}

// churn visits channels, more or less patiently.
func churn(t *testing.T, h *pubsub.Hub, publish func(name string)) {
	t.Helper()
	for range 100 {
		name := fmt.Sprintf("c%d", rand.N(10))
		s := h.Subscribe(name)
		switch rand.N(3) {
		case 0:
			settle(t, s)
		case 1:
			publish(name)
		}
		s.Close()
	}
}

func publisher(t *testing.T, rdb *redis.Client) func(name string) {
	return func(name string) { assert.NoError(t, rdb.Publish(t.Context(), name, "0").Err()) }
}

// Goods are put on shelves, each announced by one message, and takers who sleep
// until they are woken take them away. Takers leave as they please, and the
// connection is cut again and again. In virtual time a single lost wake-up is
// plain to see: the goods would lie there until the clock jumps to the end.
func TestNoWakeUpIsEverLost(t *testing.T) {
	for range 20 {
		bubble(t, pubsub.Config{Linger: 30 * time.Millisecond}, func(t *testing.T, f *fake, h *pubsub.Hub) {
			f.latency = func([]string) time.Duration { return rand.N(20 * time.Millisecond) }
			m := &market{fake: f, hub: h, end: make(chan struct{})}
			var crowd sync.WaitGroup
			for i := range 30 {
				crowd.Go(func() { m.take(i % shelves) })
			}
			for range 500 {
				time.Sleep(rand.N(10 * time.Millisecond))
				m.put(rand.N(shelves))
				if rand.N(100) == 0 {
					f.cut()
				}
			}
			began := time.Now()
			for m.left() > 0 && time.Since(began) < time.Minute {
				time.Sleep(10 * time.Millisecond)
			}
			assert.Less(t, time.Since(began), 5*time.Second, "goods left: %d", m.left())
			close(m.end)
			crowd.Wait()
			time.Sleep(5 * time.Second)
			assert.Zero(t, h.Channels())
			synctest.Wait()
			for _, l := range f.all() {
				assert.True(t, l.gone())
			}
		})
	}
}

const shelves = 4

type market struct {
	fake *fake
	hub  *pubsub.Hub
	end  chan struct{}

	mu    sync.Mutex // guards goods
	goods [shelves]int
}

func (m *market) put(shelf int) {
	m.mu.Lock()
	m.goods[shelf]++
	m.mu.Unlock()
	m.fake.publish(fmt.Sprint(shelf))
}

func (m *market) look(shelf int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.goods[shelf] == 0 {
		return false
	}
	m.goods[shelf]--
	return true
}

func (m *market) left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, g := range m.goods {
		n += g
	}
	return n
}

// take takes goods from a shelf until the end, staying subscribed for a while
// at a time. The first in a subscription happens once it is confirmed, as a
// lock's waiter does it.
func (m *market) take(shelf int) {
	for {
		s := m.hub.Subscribe(fmt.Sprint(shelf))
		leave := time.After(rand.N(200 * time.Millisecond))
		for on := true; on; {
			for s.Confirmed() && m.look(shelf) {
			}
			select {
			case <-s.Wake():
			case <-leave:
				on = false
			case <-m.end:
				s.Close()
				return
			}
		}
		s.Close()
	}
}
