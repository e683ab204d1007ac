package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClocksKeepPace(t *testing.T) {
	for name, now := range map[string]clock.Clock{"boot": clock.Boot(), "monotonic": clock.Monotonic()} {
		t.Run(name, func(t *testing.T) {
			outer := time.Now()
			from := now()
			inner := time.Now()
			time.Sleep(30 * time.Millisecond) // the passing of time is the subject here, not a race to be won
			least := time.Since(inner)
			passed := now() - from
			most := time.Since(outer)

			// Between the two because Go's clock was read inside and outside; a microsecond for the clocks' grain.
			assert.GreaterOrEqual(t, passed, least-time.Microsecond)
			assert.LessOrEqual(t, passed, most+time.Microsecond)
		})
	}
}

func TestNeverGoesBackwards(t *testing.T) {
	for name, now := range map[string]clock.Clock{"boot": clock.Boot(), "monotonic": clock.Monotonic()} {
		last := now()
		for range 10_000 {
			next := now()
			if next < last {
				t.Fatalf("%s: %v after %v", name, next, last)
			}
			last = next
		}
	}
}

func TestMonotonicFollowsTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.Monotonic()
		time.Sleep(time.Hour)
		assert.Equal(t, time.Hour, now())
	})
}
