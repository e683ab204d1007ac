package pubsub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/pubsub"
)

func TestPausesBetweenConnectionsGrow(t *testing.T) {
	log := &records{}
	bubble(t, pubsub.Config{Logger: log.logger()}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		f.refuse = func(words []string) string { // accepts, confirms, and hangs up
			if words[0] == "subscribe" {
				defer time.AfterFunc(time.Millisecond, f.cut)
			}
			return ""
		}
		s := h.Subscribe("a")
		time.Sleep(10 * time.Second)
		assert.InDelta(t, 16, log.count("connection lost"), 6, "50, 100, 200, 400, 800 ms, then a second each, less up to a half")

		f.set(func() { f.refuse = nil })
		settle(t, s)
		time.Sleep(2 * time.Second)
		drain(s)
		f.cut()
		began := time.Now()
		token(t, s)
		assert.LessOrEqual(t, time.Since(began), 50*time.Millisecond, "one that lasted starts from the beginning")
	})
}

// The server confirms on every connection and hangs up. While the pauses are short nobody is troubled beyond the confirmations;
// who would sit deaf through a long one is woken before it.
func TestALongPauseIsNotSleptThrough(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s := listen(t, h, "a")
		time.Sleep(2 * time.Second)
		for lost := range 8 {
			drain(s)
			f.cut()
			synctest.Wait()
			woken := drain(s)
			assert.False(t, s.Polling(), "it was confirmed a moment ago")
			assert.Equal(t, lost >= 2, woken, "lost for the %d. time in a row", lost+1)
			token(t, s)
			assert.True(t, s.Confirmed())
		}
	})
}

func TestWaitersPollDuringAnOutage(t *testing.T) {
	log := &records{}
	bubble(t, pubsub.Config{Logger: log.logger()}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s := listen(t, h, "a")
		f.set(func() { f.down = true })
		f.cut()
		token(t, s)
		assert.True(t, s.Polling())
		assert.False(t, s.Confirmed())
		late := h.Subscribe("b")
		assert.True(t, late.Polling())
		assert.True(t, drain(late), "who starts out polling has a token")
		time.Sleep(time.Minute)
		assert.Equal(t, 1, log.warnings(), "one an outage")
		assert.False(t, drain(s), "and one token")

		f.set(func() { f.down = false })
		settle(t, s)
		settle(t, late)
		assert.False(t, s.Polling())
		assert.False(t, late.Polling())
		assert.False(t, h.Subscribe("c").Polling(), "the outage is over")
	})
}

func TestAShortOutageMakesNobodyPoll(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		s := listen(t, h, "a")
		f.set(func() { f.down = true })
		f.cut()
		time.Sleep(20 * time.Millisecond)
		f.set(func() { f.down = false })
		token(t, s)
		assert.True(t, s.Confirmed(), "the only token is the confirmation's")
	})
}
