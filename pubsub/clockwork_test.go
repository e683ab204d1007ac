package pubsub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/pubsub"
)

// next is the pause between connections where it is of no interest: so short that chance cannot shorten it.
const next = time.Nanosecond

var promptly = pubsub.Backoff{First: next, Max: next}

// The last to leave starts the linger of a channel, whoever left before, and the last channel that of the connection.
func TestLingerEndsOnTheInstant(t *testing.T) {
	for name, test := range given(time.Second) {
		t.Run(name, func(t *testing.T) {
			// Pings rouse the keeper now and then, which is no reason to end a linger.
			bubble(t, pubsub.Config{Linger: test.given, Ping: test.want * 3 / 8}, func(t *testing.T, f *fake, h *pubsub.Hub) {
				listen(t, h, "a").Close()
				time.Sleep(test.want - 1)
				back := listen(t, h, "a")
				time.Sleep(test.want / 2)
				back.Close()
				left := f.now()
				time.Sleep(3 * test.want)
				assert.Equal(t, []time.Duration{left + test.want}, f.when("unsubscribe"))
				assert.True(t, f.last().gone())
				assert.Equal(t, left+2*test.want, f.last().end, "the connection")
			})
		})
	}
}

// The first of two to go does not take the other along.
func TestEveryChannelHasALingerOfItsOwn(t *testing.T) {
	bubble(t, pubsub.Config{Linger: time.Second, Ping: time.Hour}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		a, b := listen(t, h, "a"), listen(t, h, "b")
		listen(t, h, "c")
		a.Close()
		time.Sleep(time.Millisecond)
		b.Close()
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"a", "b"}, f.sent("unsubscribe"))
		assert.Equal(t, []time.Duration{time.Second, time.Second + time.Millisecond}, f.when("unsubscribe"))
		assert.False(t, f.last().gone())
	})
}

// A ping is due when nothing was heard for so long. An answer to it counts, and so does a message.
func TestPingsComeOnTheInstant(t *testing.T) {
	for name, test := range given(2 * time.Second) {
		t.Run(name, func(t *testing.T) {
			bubble(t, pubsub.Config{Ping: test.given}, func(t *testing.T, f *fake, h *pubsub.Hub) {
				listen(t, h, "a")
				time.Sleep(2*test.want + test.want/2)
				f.publish("a")
				heard := f.now()
				time.Sleep(test.want + test.want/2)
				assert.Equal(t, []time.Duration{test.want, 2 * test.want, heard + test.want}, f.when("ping"))
			})
		})
	}
}

// What is asked is answered within Ping, whether it is the ping that nobody answers or a request before it.
func TestADeadConnectionIsLeftOnTheInstant(t *testing.T) {
	for name, kill := range map[string]func(*line){"nothing is answered": (*line).mute, "nothing is read": (*line).stall} {
		for which, test := range given(2 * time.Second) {
			cfg := pubsub.Config{Ping: test.given, Backoff: promptly}
			t.Run(name+"/ping/"+which, func(t *testing.T) {
				bubble(t, cfg, func(t *testing.T, f *fake, h *pubsub.Hub) {
					s := listen(t, h, "a")
					kill(f.last())
					token(t, s)
					assert.True(t, s.Confirmed())
					assert.Equal(t, 2*test.want+next, f.now())
				})
			})
			t.Run(name+"/subscribe/"+which, func(t *testing.T) {
				bubble(t, cfg, func(t *testing.T, f *fake, h *pubsub.Hub) {
					s := listen(t, h, "a")
					time.Sleep(test.want / 2)
					kill(f.last())
					h.Subscribe("b")
					token(t, s)
					assert.True(t, s.Confirmed())
					assert.Equal(t, test.want/2+test.want+next, f.now())
				})
			})
		}
	}
}

func TestADialThatHangsIsGivenUpOnTheInstant(t *testing.T) {
	for name, test := range given(5 * time.Second) {
		t.Run(name, func(t *testing.T) {
			cfg := pubsub.Config{Connect: test.given, Ping: time.Millisecond, Backoff: promptly}
			bubble(t, cfg, func(t *testing.T, f *fake, h *pubsub.Hub) {
				f.hanging = true
				s := h.Subscribe("a")
				synctest.Wait()
				f.set(func() { f.hanging = false })
				settle(t, s)
				assert.Equal(t, test.want+next, f.now())
				assert.Len(t, f.all(), 1)
			})
		})
	}
}

func TestARefusedChannelIsAskedForOnTheInstant(t *testing.T) {
	for name, test := range given(10 * time.Second) {
		t.Run(name, func(t *testing.T) {
			bubble(t, pubsub.Config{Retry: test.given}, func(t *testing.T, f *fake, h *pubsub.Hub) {
				f.refuse = refuse(func([]string) bool { return true })
				h.Subscribe("a")
				time.Sleep(test.want / 2)
				h.Subscribe("b") // has a time of its own
				time.Sleep(3*test.want + test.want/4)
				w := test.want
				assert.Equal(t, []string{"a", "b", "a", "b", "a", "b", "a", "b"}, f.sent("subscribe"))
				assert.Equal(t, []time.Duration{0, w / 2, w, w + w/2, 2 * w, 2*w + w/2, 3 * w, 3*w + w/2}, f.when("subscribe"))
			})
		})
	}
}

// times is what a setting says and what comes of it.
type times struct{ given, want time.Duration }

// given are two ways to come by a time: to say nothing, which is to mean fallback, and to ask for one that nobody else has.
func given(fallback time.Duration) map[string]times {
	const own = 740 * time.Millisecond
	return map[string]times{"default": {0, fallback}, "configured": {own, own}}
}
