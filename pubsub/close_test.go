package pubsub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/pubsub"
)

func TestCloseOfAnUnusedHub(t *testing.T) {
	h := pubsub.NewHub(nil, pubsub.Config{})
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, h.Close(dead), "there is nothing to wait for")
	require.NoError(t, h.Close(t.Context()))
}

func TestAfterCloseSubscriptionsAreDead(t *testing.T) {
	h, _ := onShared(t)
	s := listen(t, h, channelName(t))
	require.NoError(t, h.Close(t.Context()))
	for _, s := range []*pubsub.Subscription{s, h.Subscribe(channelName(t))} {
		assert.True(t, drain(s), "nobody sleeps on a dead hub")
		assert.True(t, s.Polling())
		assert.False(t, s.Confirmed())
		s.Close()
		s.Close()
	}
	assert.Zero(t, h.Channels())
	require.NoError(t, h.Close(t.Context()))
}

func TestCloseWhileWaitersComeAndGo(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond, 20 * time.Millisecond} {
		bubble(t, pubsub.Config{Linger: time.Millisecond}, func(t *testing.T, f *fake, h *pubsub.Hub) {
			f.latency = func([]string) time.Duration { return rand.N(3 * time.Millisecond) }
			stop := make(chan struct{})
			var crowd sync.WaitGroup
			for i := range 100 {
				crowd.Go(func() { comeAndGo(h, fmt.Sprintf("c%d", i%10), stop) })
			}
			time.Sleep(after)
			var closers sync.WaitGroup
			for range 3 {
				closers.Go(func() { assert.NoError(t, h.Close(t.Context())) })
			}
			closers.Wait()
			assert.Zero(t, h.Channels())
			close(stop)
			crowd.Wait()
			assert.Zero(t, h.Channels())
		})
	}
}

// Close does not wait longer than it is told to for a connection that hangs while it is made. What go-redis is stuck in winds
// up by itself.
func TestCloseDuringAHangIsBounded(t *testing.T) {
	for name, hang := range map[string]func(*fake){
		"the greeting is not answered": func(f *fake) { f.latency = func([]string) time.Duration { return time.Hour } },
		"the greeting is not read":     func(f *fake) { f.deaf = true },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
				hang(f)
				h.Subscribe("a")
				time.Sleep(time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				require.ErrorIs(t, h.Close(ctx), context.DeadlineExceeded)
				assert.Equal(t, 1050*time.Millisecond, f.now())
				require.NoError(t, h.Close(t.Context()))
				assert.Equal(t, timeOut, f.now())
			})
		})
	}
}

func TestCloseDuringAHangOfALiveConnectionIsQuick(t *testing.T) {
	for name, hang := range map[string]func(*line){"nothing is answered": (*line).mute, "nothing is read": (*line).stall} {
		t.Run(name, func(t *testing.T) {
			bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
				listen(t, h, "a")
				hang(f.last())
				time.Sleep(time.Second)
				require.NoError(t, h.Close(t.Context()))
				assert.Equal(t, time.Second, f.now())
			})
		})
	}
}

// comeAndGo subscribes and leaves until stop is closed. It rests in between: on a hub that is closed it is never made to wait, and
// virtual time passes only while all wait.
func comeAndGo(h *pubsub.Hub, name string, stop <-chan struct{}) {
	for {
		s := h.Subscribe(name)
		select {
		case <-s.Wake():
		case <-time.After(time.Millisecond):
		case <-stop:
			s.Close()
			return
		}
		s.Close()
		time.Sleep(rand.N(100 * time.Microsecond))
	}
}
