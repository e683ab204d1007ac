package watchdog_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/watchdog"
)

func TestAnEntryIsSmall(t *testing.T) {
	assert.LessOrEqual(t, int(watchdog.EntrySize), 80)
}

// The uncontended path: nobody is woken for holds that are gone before they are due.
func TestAddAndRemoveWakeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.add("a", period)
		synctest.Wait()
		before := r.Turns()
		for range 100_000 {
			_, e := r.add("a", period)
			r.Remove(e)
		}
		synctest.Wait()
		assert.Equal(t, before, r.Turns())
		assert.Equal(t, 1, r.Len())
	})
}

func TestTheGoroutineSleepsWhenItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		_, e := r.add("a", period)
		synctest.Wait()
		assert.Equal(t, 1, r.Turns())

		r.add("a", watchdog.Never)
		_, soon := r.add("a", 200*time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 2, r.Turns(), "only the sooner one wakes it")
		r.Remove(soon)

		before := r.Turns()
		time.Sleep(period - time.Millisecond)
		synctest.Wait()
		assert.LessOrEqual(t, r.Turns()-before, 41, "four glances a second")

		r.Remove(e)
		time.Sleep(2 * lease)
		synctest.Wait()
		require.Zero(t, r.Len())
		before = r.Turns()
		time.Sleep(100 * time.Hour)
		synctest.Wait()
		assert.Equal(t, before, r.Turns(), "with nothing in care it sleeps until woken")

		r.add("a", period)
		synctest.Wait()
		assert.Equal(t, before+1, r.Turns())
		r.batches()
		time.Sleep(period)
		synctest.Wait()
		r.one(t)
	})
}

func TestACrowdLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		entries := make([]*watchdog.Entry, 100_000)
		for i := range entries {
			_, entries[i] = r.add("a", time.Duration(1+rand.IntN(100))*time.Second)
		}
		require.Equal(t, -1, r.Broken())
		assert.LessOrEqual(t, r.Room(), 2*len(entries))
		rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		for i, e := range entries {
			r.Remove(e)
			if i%10_000 == 0 {
				require.Equal(t, -1, r.Broken())
			}
		}
		assert.Zero(t, r.Len())
		assert.LessOrEqual(t, r.Room(), 256, "the memory is given back")
	})
}

// W11: a hundred thousand holds, taken over ten seconds, on nodes that take up to
// a second to answer: none comes near the end of its lease.
func TestAHundredThousandHoldsAreRenewedInTime(t *testing.T) {
	const holds, rounds = 100_000, 3
	synctest.Test(t, func(t *testing.T) {
		var worst time.Duration
		var renewals, early int
		last := make(map[*hold]time.Duration, holds)
		r := newRig(t, func(s *sent) {
			for _, h := range s.holds {
				gap := s.at - last[h]
				last[h] = s.at
				worst = max(worst, gap)
				if gap < period*9/10 {
					early++
				}
			}
			renewals += len(s.holds)
			renew(time.Duration(rand.Int64N(int64(time.Second))))(s)
		})
		r.Add(&hold{node: "warm-up", alarm: watchdog.Never}, watchdog.Never)
		for i := range holds {
			h := &hold{node: string(rune('a' + i%7)), alarm: r.now() + valid}
			last[h] = r.now()
			r.Add(h, period)
			if i%100 == 99 {
				time.Sleep(period * 100 / (holds + holds/100))
			}
		}
		time.Sleep(rounds * period)
		synctest.Wait()
		r.Close()
		assert.LessOrEqual(t, worst, lease*6/10)
		assert.Zero(t, early, "and none is renewed more often than it must")
		assert.GreaterOrEqual(t, renewals, rounds*holds)
		assert.Greater(t, renewals/len(r.batches()), 80, "in batches that are nearly full")
		time.Sleep(2 * time.Second) // the answers that are still out
	})
}

func BenchmarkAddRemove(b *testing.B) {
	for name, standing := range map[string]int{"alone": 0, "among-100000": 100_000} {
		b.Run(name, func(b *testing.B) {
			start := time.Now()
			w := watchdog.New(watchdog.Config{
				Clock:  func() time.Duration { return time.Since(start) },
				Period: time.Hour,
				Renew:  func([]watchdog.Hold, func(int, watchdog.Result)) {},
			})
			defer w.Close()
			h := &hold{node: "a", alarm: watchdog.Never}
			for range standing {
				w.Add(h, time.Hour)
			}
			b.ReportAllocs()
			for b.Loop() {
				w.Remove(w.Add(h, time.Hour))
			}
		})
	}
}
