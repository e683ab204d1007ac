package watchdog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/watchdog"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestDueOnePeriodAfterAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		h, _ := r.add("a", period)
		for i := range 10 {
			time.Sleep(period - 1)
			synctest.Wait()
			require.Empty(t, r.batches(), "not before its time")
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			s := r.one(t)
			require.Equal(t, time.Duration(i+1)*period, s.at)
			require.Equal(t, []*hold{h}, s.holds)
		}
		assert.Empty(t, h.rung())
	})
}

func TestPeriodOfAHold(t *testing.T) {
	for name, test := range map[string]struct{ given, want time.Duration }{
		"its own":        {3 * time.Second, 3 * time.Second},
		"the configured": {0, period},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, renew(0))
				r.add("a", test.given)
				time.Sleep(2 * test.want)
				synctest.Wait()
				b := r.batches()
				require.Len(t, b, 2)
				assert.Equal(t, test.want, b[0].at)
				assert.Equal(t, 2*test.want, b[1].at)
			})
		})
	}
}

func TestBatchesAreBoundedAndOfOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		count := map[string]int{"a": 250, "b": 30, "c": 100}
		for node, n := range count {
			for range n {
				r.add(node, period)
			}
		}
		for round := range 3 {
			time.Sleep(period)
			synctest.Wait()
			seen, sizes := map[*hold]bool{}, map[string][]int{}
			for _, s := range r.batches() {
				node := s.holds[0].node
				require.Equal(t, time.Duration(round+1)*period, s.at)
				sizes[node] = append(sizes[node], len(s.holds))
				for _, h := range s.holds {
					require.Equal(t, node, h.node)
					require.False(t, seen[h], "no hold twice")
					seen[h] = true
				}
			}
			assert.Len(t, seen, 380)
			assert.Equal(t, map[string][]int{"a": {100, 100, 50}, "b": {30}, "c": {100}}, sizes)
		}
	})
}

func TestHoldsShortlyAfterJoinTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		const slack = period / 20
		first, _ := r.add("a", period)
		time.Sleep(slack)
		second, _ := r.add("a", period)
		time.Sleep(time.Nanosecond)
		third, _ := r.add("a", period)

		time.Sleep(period - slack - 1)
		synctest.Wait()
		assert.Equal(t, []*hold{first, second}, r.one(t).holds)
		time.Sleep(slack + 1)
		synctest.Wait()
		assert.Equal(t, []*hold{third}, r.one(t).holds)
		time.Sleep(period - slack - 1)
		synctest.Wait()
		assert.Equal(t, []*hold{first, second}, r.one(t).holds, "they stay together")
	})
}

// What is shortly after for the others may be most of its period for this one.
func TestAShortPeriodKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		const offset, short = 450 * time.Millisecond, 900 * time.Millisecond
		r.add("a", period)
		time.Sleep(offset)
		r.add("b", short) // due 350 ms after the other, and before that 550 ms before it
		time.Sleep(period + short)
		synctest.Wait()
		b := r.batches()
		assert.Len(t, b, 13)
		for _, s := range b {
			if s.holds[0].node == "b" {
				assert.Zero(t, (s.at-offset)%short, "renewed at %v", s.at)
			}
		}
	})
}

func TestNextPeriodCountsFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.add("a", period)
		time.Sleep(period)
		synctest.Wait()
		first := r.one(t)
		time.Sleep(4 * time.Second)
		first.answer(watchdog.Renewed)
		time.Sleep(period - 4*time.Second)
		synctest.Wait()
		second := r.one(t)
		assert.Equal(t, 2*period, second.at)

		time.Sleep(period + 3*time.Second)
		synctest.Wait()
		require.Empty(t, r.batches(), "nothing is renewed twice at a time")
		second.answer(watchdog.Renewed)
		synctest.Wait()
		assert.Equal(t, 3*period+3*time.Second, r.one(t).at, "overdue: at once")
	})
}

func TestConfigThatCannotWorkPanics(t *testing.T) {
	clock := func() time.Duration { return 0 }
	send := func([]watchdog.Hold, func(int, watchdog.Result)) {}
	for name, cfg := range map[string]watchdog.Config{
		"Clock":  {Period: 1, Renew: send},
		"Period": {Clock: clock, Renew: send},
		"Renew":  {Clock: clock, Period: 1},
	} {
		assert.Panics(t, func() { watchdog.New(cfg) }, name)
	}
	assert.NotPanics(t, func() { watchdog.New(watchdog.Config{Clock: clock, Period: 1, Renew: send}) })
}
