package watchdog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/watchdog"
)

// The alarm of a hold that was renewed is that of its last renewal, to the instant, and not of its first.
func TestTheAlarmFollowsTheRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *sent) {
			if s.at < 4*period {
				renew(time.Second)(s)
			}
		})
		h, e := r.add("a", period)
		time.Sleep(3*period + valid - 1)
		synctest.Wait()
		require.Empty(t, h.rung())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, []time.Duration{3*period + valid}, h.rung())
		assert.True(t, r.Forgotten(e))
		b := r.batches()
		require.Len(t, b, 4)
		for i, s := range b {
			assert.Equal(t, time.Duration(i+1)*period, s.at)
		}
	})
}

// The pauses of a hold that has for ever double up to the period, its own if that
// is shorter, and stay there however often it fails.
func TestPausesGrowUpToThePeriod(t *testing.T) {
	for name, test := range map[string]struct{ retry, period, first, longest time.Duration }{
		"to the usual one":  {100 * time.Millisecond, period, 100 * time.Millisecond, period},
		"to its own":        {100 * time.Millisecond, period / 20, 100 * time.Millisecond, period / 20},
		"no further":        {100 * time.Millisecond, 6 * period, 100 * time.Millisecond, period},
		"without a setting": {0, period, period / 10, period},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(s *sent) { s.answer(watchdog.Failed) }, func(cfg *watchdog.Config) { cfg.Retry = test.retry })
				r.Add(&hold{node: "a", alarm: watchdog.Never}, test.period)
				time.Sleep(test.period + 600*test.longest)
				synctest.Wait()
				b := r.batches()
				require.Greater(t, len(b), 600, "more often than can be counted in an entry")
				assert.Equal(t, test.period, b[0].at)
				want := test.first
				for i := 1; i < len(b); i++ {
					pause := b[i].at - b[i-1].at
					require.LessOrEqual(t, pause, want, "pause %d", i)
					require.GreaterOrEqual(t, pause, want*3/4, "pause %d", i)
					want = min(2*want, test.longest)
				}
			})
		})
	}
}

// Of a hundred that shared a batch, 64 fail. They come again together after one
// pause, two by two, and nobody else comes with them: the others keep their time.
func TestWhatFailedIsRetriedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bad = 64
		holds := make(map[*hold]bool, 100) // whether it is to fail
		r := newRig(t, func(s *sent) {
			for i, h := range s.holds {
				result := watchdog.Renewed
				if holds[h] {
					result = watchdog.Failed
				}
				s.done(i, result)
			}
		})
		for i := range 100 {
			h := &hold{node: "a", alarm: watchdog.Never}
			holds[h] = i < bad
			r.Add(h, period)
		}
		time.Sleep(period)
		synctest.Wait()
		assert.Len(t, r.one(t).holds, 100)

		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		retries := r.batches()
		require.Len(t, retries, bad/2)
		for _, s := range retries {
			assert.Equal(t, retries[0].at, s.at)
			require.Len(t, s.holds, 2)
			assert.True(t, holds[s.holds[0]] && holds[s.holds[1]])
		}
		assert.InDelta(t, period+87500*time.Microsecond, retries[0].at, float64(12500*time.Microsecond), "75 to 100 ms")

		time.Sleep(period - 100*time.Millisecond)
		synctest.Wait()
		kept := 0
		for _, s := range r.batches() {
			if !holds[s.holds[0]] {
				assert.Equal(t, 2*period, s.at)
				kept += len(s.holds)
			}
		}
		assert.Equal(t, 100-bad, kept)
	})
}

// Batches have the size that is asked for.
func TestTheSizeOfABatch(t *testing.T) {
	for name, test := range map[string]struct{ given, want int }{"default": {0, 100}, "configured": {7, 7}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, renew(0), func(cfg *watchdog.Config) { cfg.Batch = test.given })
				for range 2*test.want + 1 {
					r.add("a", period)
				}
				time.Sleep(period)
				synctest.Wait()
				var sizes []int
				for _, s := range r.batches() {
					assert.Equal(t, period, s.at)
					sizes = append(sizes, len(s.holds))
				}
				assert.Equal(t, []int{test.want, test.want, 1}, sizes)
			})
		})
	}
}

// How long before its time a hold may come along depends on the usual period
// where its own is longer.
func TestALongPeriodComesAlongNoSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		const slack = period / 20
		usual, _ := r.add("a", period)
		time.Sleep(slack)
		joins, _ := r.add("a", 2*period)
		time.Sleep(time.Nanosecond)
		late, _ := r.add("a", 2*period)
		time.Sleep(2 * period)
		synctest.Wait()
		b := r.batches()
		require.Len(t, b, 3)
		assert.Equal(t, []*hold{usual}, b[0].holds)
		assert.Equal(t, []*hold{usual, joins}, b[1].holds)
		assert.Equal(t, 2*period, b[1].at)
		assert.Equal(t, []*hold{late}, b[2].holds)
		assert.Equal(t, 2*period+slack+1, b[2].at)
	})
}
