package pubsub_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/pubsub"
)

// Each pause is twice as long as the one before, up to the longest, and shorter by up to a half.
func TestPausesStayWithinTheirBounds(t *testing.T) {
	for name, test := range map[string]struct {
		given pubsub.Backoff
		want  []time.Duration
	}{
		"default":    {pubsub.Backoff{}, milliseconds(50, 100, 200, 400, 800, 1000)},
		"configured": {pubsub.Backoff{First: 10 * time.Millisecond, Max: 35 * time.Millisecond}, milliseconds(10, 20, 35)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &door{}
				h := d.hub(t, pubsub.Config{Backoff: test.given})
				s := h.Subscribe("a")
				token(t, s)
				assert.True(t, s.Polling())
				assert.Len(t, d.opened(), 3, "so many have failed by then")
				time.Sleep(5 * time.Minute)
				s.Close()

				pauses, longest := d.pauses(), test.want[len(test.want)-1]
				require.Greater(t, len(pauses), 300)
				for i, pause := range pauses {
					want := test.want[min(i, len(test.want)-1)]
					require.LessOrEqual(t, pause, want, "pause %d", i+1)
					require.GreaterOrEqual(t, pause, want/2, "pause %d", i+1)
				}
				assert.Less(t, slices.Min(pauses[len(test.want):]), longest*6/10, "chance has its say")
				assert.Greater(t, slices.Max(pauses), longest*9/10)
			})
		})
	}
}

// After three failures comes a connection that is answered and lasts for so long. Only the longest pause makes it one that
// has lasted.
func TestWhatHasLastedStartsFromTheBeginning(t *testing.T) {
	backoff := pubsub.Backoff{First: 100 * time.Millisecond, Max: time.Second}
	for name, test := range map[string]struct{ lasted, least, most time.Duration }{
		"long enough": {backoff.Max, 50 * time.Millisecond, 100 * time.Millisecond},
		"not quite":   {backoff.Max - 1, 400 * time.Millisecond, 800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				d := &door{shut: 3, behind: f.client()}
				h := d.hub(t, pubsub.Config{Backoff: backoff, Ping: time.Hour})
				defer f.cut()
				s := h.Subscribe("a")
				settle(t, s)
				time.Sleep(test.lasted)
				f.cut()
				synctest.Wait()
				settle(t, s)
				pauses := d.pauses()
				require.Len(t, pauses, 4)
				pause := pauses[3] - test.lasted
				assert.GreaterOrEqual(t, pause, test.least)
				assert.LessOrEqual(t, pause, test.most)
			})
		})
	}
}

// An open that hangs is asked for a sign of life after Ping and has Connect to give it. However long that takes, it is no
// connection that has lasted.
func TestAnOpenThatHangsIsGivenUpOnTheInstant(t *testing.T) {
	const each = (2 + 5) * time.Second
	synctest.Test(t, func(t *testing.T) {
		d := &door{hangs: true}
		s := d.hub(t, pubsub.Config{}).Subscribe("a")
		time.Sleep(5*each - time.Second) // the fifth hangs
		s.Close()
		opened, givenUp, pauses := d.opened(), d.givenUp(), d.pauses()
		require.Len(t, opened, 5)
		require.Len(t, givenUp, 4)
		for i, most := range milliseconds(50, 100, 200, 400) {
			assert.Equal(t, each, givenUp[i]-opened[i])
			pause := pauses[i] - each
			assert.GreaterOrEqual(t, pause, most/2, "pause %d", i+1)
			assert.LessOrEqual(t, pause, most, "pause %d", i+1)
		}
	})
}

// door is where a hub gets its connections from. It notes when it was knocked at.
type door struct {
	shut   int           // how often there is nothing behind it
	hangs  bool          // nobody answers before the hub has left
	behind *redis.Client // nil: there is never anything

	began time.Time
	mu    sync.Mutex // guards the rest
	at    []time.Duration
	left  []time.Duration
}

// hub is one that comes to d, until the end of the test.
func (d *door) hub(t *testing.T, cfg pubsub.Config) *pubsub.Hub {
	t.Helper()
	d.began = time.Now()
	cfg.Logger = slog.New(slog.DiscardHandler)
	h := pubsub.NewHub(d.open, cfg)
	t.Cleanup(func() {
		require.NoError(t, h.Close(context.Background()))
		if d.behind != nil {
			require.NoError(t, d.behind.Close())
		}
	})
	return h
}

func (d *door) open(ctx context.Context) *redis.PubSub {
	knocks := d.note(&d.at)
	if d.hangs {
		<-ctx.Done()
		d.note(&d.left)
	}
	if d.behind == nil || knocks <= d.shut {
		return nil
	}
	return d.behind.Subscribe(ctx)
}

// note enters the present instant and tells how many there are.
func (d *door) note(instants *[]time.Duration) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	*instants = append(*instants, time.Since(d.began))
	return len(*instants)
}

func (d *door) opened() []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]time.Duration(nil), d.at...)
}

// givenUp tells when the hub had enough of an open that hung.
func (d *door) givenUp() []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]time.Duration(nil), d.left...)
}

// pauses are the times between one knock and the next.
func (d *door) pauses() []time.Duration {
	at := d.opened()
	var out []time.Duration
	for i := 1; i < len(at); i++ {
		out = append(out, at[i]-at[i-1])
	}
	return out
}

func milliseconds(ns ...int) []time.Duration {
	var out []time.Duration
	for _, n := range ns {
		out = append(out, time.Duration(n)*time.Millisecond)
	}
	return out
}
