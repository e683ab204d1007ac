package pubsub_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/pubsub"
)

func TestARefusedChannelIsAskedForNowAndThen(t *testing.T) {
	bubble(t, pubsub.Config{Retry: 10 * time.Second, Ping: time.Hour}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.refuse = refuse(func(names []string) bool { return true })
		s := h.Subscribe("a")
		token(t, s)
		assert.True(t, s.Polling())
		time.Sleep(45 * time.Second)
		assert.Len(t, f.sent("subscribe"), 5)
		assert.False(t, drain(s), "it is polling already")

		f.set(func() { f.refuse = nil })
		token(t, s)
		assert.True(t, s.Confirmed())
		assert.False(t, s.Polling())
		time.Sleep(time.Minute)
		assert.Len(t, f.sent("subscribe"), 6)
	})
}

// A server that is busy with a script, or loads its data, refuses nobody in particular. Retry, which is for lack of a right, is
// far away.
func TestARefusalThatPassesIsAnOutage(t *testing.T) {
	bubble(t, pubsub.Config{Retry: time.Hour}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.refuse = func(words []string) string {
			if words[0] == "subscribe" {
				return "BUSY Redis is busy running a script."
			}
			return ""
		}
		s := h.Subscribe("a")
		token(t, s)
		assert.True(t, s.Polling(), "it has been going on for a while")
		f.set(func() { f.refuse = nil })
		time.Sleep(2 * time.Second)
		token(t, s)
		assert.True(t, s.Confirmed())
		assert.False(t, s.Polling())
	})
}

func TestARefusedChannelIsForgottenWithItsLastWaiter(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.refuse = refuse(func(names []string) bool { return true })
		s := h.Subscribe("a")
		token(t, s)
		s.Close()
		assert.Zero(t, h.Channels())
		time.Sleep(time.Minute)
		assert.Len(t, f.sent("subscribe"), 1)
	})
}

func TestARefusedBatchIsTakenApart(t *testing.T) {
	bubble(t, pubsub.Config{Retry: time.Hour}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.refuse = refuse(func(names []string) bool { return slices.Contains(names, "no") })
		var subs []*pubsub.Subscription
		for _, name := range []string{"yes1", "no", "yes2", "yes3"} {
			subs = append(subs, h.Subscribe(name))
		}
		for i, s := range subs {
			token(t, s)
			assert.Equal(t, i != 1, s.Confirmed())
			assert.Equal(t, i == 1, s.Polling())
		}
		synctest.Wait()
		assert.Len(t, f.sent("subscribe"), 5)

		f.cut() // on the next connection the permitted ones go together
		for i, s := range subs {
			if i != 1 {
				token(t, s)
			}
		}
		synctest.Wait()
		again := f.last().sent("subscribe")
		require.Len(t, again, 2)
		assert.ElementsMatch(t, []int{1, 3}, []int{len(strings.Fields(again[0])), len(strings.Fields(again[1]))})
		assert.True(t, subs[1].Polling())
	})
}

func TestManyChannelsGoInFewCommands(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.latency = func([]string) time.Duration { return time.Millisecond }
		subs := listenAll(t, h, "c%d", 1200)
		f.cut()
		for _, s := range subs {
			token(t, s)
			require.True(t, s.Confirmed())
		}
		assert.Len(t, f.last().sent("subscribe"), 3)
		f.set(func() { f.latency = nil })
		closeAll(subs...)
		time.Sleep(5 * time.Second)
		assert.Zero(t, h.Channels())
		assert.Len(t, f.last().sent("unsubscribe"), 3)
	})
}
