package pubsub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/pubsub"
)

func TestConfirmationsAreCounted(t *testing.T) {
	bubble(t, pubsub.Config{Linger: time.Second}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "b") // keeps the connection
		f.set(func() { f.latency = func([]string) time.Duration { return 800 * time.Millisecond } })

		visit(h, "a")                       // 0.0 s: SUBSCRIBE, answered at 0.8 s
		time.Sleep(1100 * time.Millisecond) // 1.0 s: UNSUBSCRIBE, answered at 1.8 s
		s := h.Subscribe("a")               // 1.1 s: SUBSCRIBE, read at 1.8 s, answered at 2.6 s
		assert.False(t, s.Confirmed(), "the confirmation of 0.8 s is worth nothing any more")
		time.Sleep(800 * time.Millisecond) // 1.9 s: unsubscribed
		assert.False(t, s.Confirmed())
		assert.False(t, drain(s))
		time.Sleep(800 * time.Millisecond) // 2.7 s
		assert.True(t, s.Confirmed())
		assert.True(t, drain(s))
		assert.Equal(t, 2, h.Channels())
		assert.Equal(t, []string{"b", "a", "a"}, f.sent("subscribe"))
	})
}

func TestACountGoesOnWhileAConfirmationIsOutstanding(t *testing.T) {
	bubble(t, pubsub.Config{Linger: 100 * time.Millisecond, Ping: time.Minute}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "b")
		f.set(func() { f.latency = func([]string) time.Duration { return time.Second } })
		for range 5 { // SUBSCRIBE and UNSUBSCRIBE pile up, ten in all
			visit(h, "a")
			time.Sleep(110 * time.Millisecond)
		}
		s := h.Subscribe("a")
		token(t, s)
		assert.True(t, s.Confirmed(), "the only token is that of the last confirmation")
		assert.True(t, f.last().hears("a"))
		s.Close()
		time.Sleep(10 * time.Second)
		assert.Equal(t, 1, h.Channels())
		assert.False(t, f.last().hears("a"))
	})
}

func TestAnswersOutOfStepEndTheConnection(t *testing.T) {
	for name, frame := range map[string]string{
		"confirmation nobody asked for": "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n",
		"end of a subscription":         "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n",
		"pong":                          "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
		"error":                         "-ERR for no reason\r\n",
		"not RESP":                      "?\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
				s := listen(t, h, "a")
				first := f.last()
				assert.NoError(t, first.write(frame))
				synctest.Wait()
				assert.False(t, s.Confirmed())
				token(t, s)
				assert.True(t, s.Confirmed())
				assert.NotSame(t, first, f.last())
			})
		})
	}
}

func TestOnlyTheFittingAnswerIsTaken(t *testing.T) {
	for name, frame := range map[string]string{
		"another channel": "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
		"another kind":    "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n",
		"pong":            "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
				listen(t, h, "a")
				first := f.last()
				first.mute()
				s := h.Subscribe("b")
				synctest.Wait()
				assert.NoError(t, first.write(frame))
				began := time.Now()
				token(t, s)
				assert.True(t, s.Confirmed())
				assert.Less(t, time.Since(began), time.Second, "without waiting for the answer that fits")
				assert.NotSame(t, first, f.last())
			})
		})
	}
}

func TestConfirmationsMayComeInAnyOrderWithinACommand(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "a")
		l := f.last()
		l.mute()
		b, c := h.Subscribe("b"), h.Subscribe("c")
		synctest.Wait()
		assert.NoError(t, l.write("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:2\r\n"))
		token(t, c)
		assert.True(t, c.Confirmed())
		assert.False(t, b.Confirmed())
		assert.NoError(t, l.write("*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:3\r\n"))
		token(t, b)
		assert.True(t, b.Confirmed())
		assert.Len(t, f.all(), 1)
	})
}

func TestEveryRequestIsOwedAnAnswer(t *testing.T) {
	bubble(t, pubsub.Config{Ping: 2 * time.Second, Backoff: promptly}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "a")
		first := f.last()
		first.mute()
		b := h.Subscribe("b")
		synctest.Wait()
		c := h.Subscribe("c")
		time.Sleep(time.Second)
		assert.NoError(t, first.write("*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"))
		token(t, b)
		began := time.Now()
		token(t, c)
		assert.Equal(t, 2*time.Second+next, time.Since(began), "from the last answer on")
		assert.NotSame(t, first, f.last())
	})
}

func TestMessagesForUnknownChannelsAreIgnored(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s := listen(t, h, "a")
		assert.NoError(t, f.last().write("*3\r\n$7\r\nmessage\r\n$6\r\nnobody\r\n$1\r\n0\r\n"))
		synctest.Wait()
		assert.True(t, s.Confirmed())
		assert.False(t, drain(s))
	})
}

func TestARefusedUnsubscribeForgetsTheChannel(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s := listen(t, h, "b")
		f.set(func() {
			f.refuse = func(words []string) string {
				return map[bool]string{true: "NOPERM no unsubscribe"}[words[0] == "unsubscribe"]
			}
		})
		listen(t, h, "a").Close()
		time.Sleep(2 * time.Second)
		assert.Equal(t, 1, h.Channels())
		assert.True(t, s.Confirmed())
		back := listen(t, h, "a")
		f.publish("a")
		token(t, back)
	})
}

func TestAReturnDuringARefusedUnsubscribe(t *testing.T) {
	log := &records{}
	cfg := pubsub.Config{Linger: time.Second, Logger: log.logger()}
	bubble(t, cfg, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "a").Close()
		listen(t, h, "b")
		f.set(func() {
			f.latency = func([]string) time.Duration { return 500 * time.Millisecond }
			f.refuse = func(words []string) string {
				return map[bool]string{true: "NOPERM no unsubscribe"}[words[0] == "unsubscribe"]
			}
		})
		time.Sleep(1100 * time.Millisecond)
		s := h.Subscribe("a")
		token(t, s)
		assert.True(t, s.Confirmed())
		assert.Zero(t, log.warnings())
	})
}

func TestARefusedPingIsASignOfLife(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s := listen(t, h, "a")
		f.set(func() {
			f.refuse = func(words []string) string {
				return map[bool]string{true: "NOPERM no ping"}[words[0] == "ping"]
			}
		})
		time.Sleep(time.Minute)
		assert.True(t, s.Confirmed())
		assert.False(t, s.Polling())
		assert.Len(t, f.all(), 1)
	})
}

func TestALeaverDuringARefusalLeavesNothing(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		listen(t, h, "b")
		f.set(func() {
			f.latency = func([]string) time.Duration { return 100 * time.Millisecond }
			f.refuse = refuse(func([]string) bool { return true })
		})
		visit(h, "a")
		assert.Equal(t, 2, h.Channels())
		time.Sleep(200 * time.Millisecond)
		assert.Equal(t, 1, h.Channels())
	})
}

// visit subscribes, has the request sent, and leaves before it is answered.
func visit(h *pubsub.Hub, channel string) {
	s := h.Subscribe(channel)
	synctest.Wait()
	s.Close()
}
