package pubsub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/pubsub"
)

func TestNothingHappensBeforeTheFirstSubscription(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		time.Sleep(time.Hour)
		assert.Empty(t, f.all())
		assert.Zero(t, h.Channels())
	})
}

func TestAnUnusedChannelLingers(t *testing.T) {
	bubble(t, pubsub.Config{Linger: time.Second}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s, other := listen(t, h, "a"), listen(t, h, "b")
		s.Close()
		time.Sleep(time.Second - time.Millisecond)
		assert.Empty(t, f.sent("unsubscribe"))
		assert.Equal(t, 2, h.Channels())

		time.Sleep(2 * time.Millisecond)
		assert.Equal(t, []string{"a"}, f.sent("unsubscribe"))
		assert.Equal(t, 1, h.Channels())
		assert.True(t, other.Confirmed())
	})
}

func TestAReturnWhileLingeringIsConfirmedAtOnce(t *testing.T) {
	bubble(t, pubsub.Config{Linger: time.Second}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "a").Close()
		time.Sleep(900 * time.Millisecond)
		s := h.Subscribe("a")
		assert.True(t, s.Confirmed())
		assert.False(t, drain(s), "there is nothing new to look at")
		time.Sleep(time.Minute)
		assert.True(t, s.Confirmed())
		assert.Equal(t, []string{"a"}, f.sent("subscribe"))
		assert.Empty(t, f.sent("unsubscribe"))
	})
}

func TestAnUnusedConnectionIsClosed(t *testing.T) {
	bubble(t, pubsub.Config{Linger: time.Second}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "a").Close()
		time.Sleep(1500 * time.Millisecond)
		assert.Zero(t, h.Channels())
		assert.False(t, f.last().gone(), "the connection lingers too")
		time.Sleep(time.Second)
		assert.True(t, f.last().gone())

		s := listen(t, h, "a")
		assert.Len(t, f.all(), 2, "and is opened again when needed")
		f.publish("a")
		token(t, s)
	})
}

func TestAConnectionInItsLingerIsUsedAgain(t *testing.T) {
	bubble(t, pubsub.Config{Linger: time.Second}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "a").Close()
		time.Sleep(1500 * time.Millisecond)
		s := listen(t, h, "b")
		time.Sleep(time.Minute)
		assert.True(t, s.Confirmed())
		assert.Len(t, f.all(), 1)
	})
}

func TestLeavingDuringAnOutageEndsEverything(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.down = true
		s := h.Subscribe("a")
		token(t, s)
		s.Close()
		assert.Zero(t, h.Channels(), "nothing to linger for")
	})
}

func TestALingeringChannelIsNotResubscribed(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s, left := listen(t, h, "a"), listen(t, h, "b")
		left.Close()
		f.cut()
		token(t, s)
		assert.Equal(t, []string{"a"}, f.last().sent("subscribe"))
		assert.Equal(t, 1, h.Channels())
	})
}
