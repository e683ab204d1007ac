package watchdog_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/internal/watchdog"
)

func TestGoneForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		h, e := r.add("a", period)
		other, _ := r.add("a", period)
		time.Sleep(period)
		synctest.Wait()
		s := r.one(t)
		for i := range s.holds {
			if s.holds[i] == h {
				s.done(i, watchdog.Gone)
			} else {
				s.done(i, watchdog.Renewed)
			}
		}
		assert.True(t, r.Forgotten(e))
		assert.Equal(t, 1, r.Len())
		time.Sleep(period)
		synctest.Wait()
		assert.Equal(t, []*hold{other}, r.one(t).holds)
		time.Sleep(lease)
		synctest.Wait()
		assert.Empty(t, h.rung(), "a forgotten hold is not rung")
		r.Remove(e)
	})
}

func TestOverIsForgottenWithoutARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		h, e := r.add("a", period)
		h.end()
		time.Sleep(period)
		synctest.Wait()
		assert.True(t, r.Forgotten(e))
		assert.Empty(t, r.batches())
	})
}

func TestAnswersThatCountNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		_, removed := r.add("a", period)
		kept, e := r.add("b", period)
		time.Sleep(period)
		synctest.Wait()
		r.Remove(removed)
		again, _ := r.add("a", period)
		for _, s := range r.batches() {
			s.answer(watchdog.Renewed)
			s.answer(watchdog.Gone) // more than was asked for
		}
		assert.True(t, r.Forgotten(removed))
		assert.False(t, r.Forgotten(e), "only the first answer counts")
		assert.Equal(t, 2, r.Len())
		time.Sleep(period)
		synctest.Wait()
		var renewed []*hold
		for _, s := range r.batches() {
			renewed = append(renewed, s.holds...)
		}
		assert.ElementsMatch(t, []*hold{kept, again}, renewed)
	})
}

func TestDoneWithinRenew(t *testing.T) {
	for result, want := range map[watchdog.Result]int{watchdog.Renewed: 2, watchdog.Gone: 1, watchdog.Failed: 10} {
		t.Run(fmt.Sprint(result), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(s *sent) { s.answer(result) })
				for range 100 {
					r.add("a", period)
				}
				time.Sleep(2 * period)
				synctest.Wait()
				tries := map[time.Duration]map[*hold]bool{}
				for _, s := range r.batches() {
					if tries[s.at] == nil {
						tries[s.at] = map[*hold]bool{}
					}
					for _, h := range s.holds {
						assert.False(t, tries[s.at][h], "never twice at once")
						tries[s.at][h] = true
					}
				}
				n := len(tries)
				if result == watchdog.Failed {
					assert.Less(t, n, want)
					assert.Greater(t, n, 5)
				} else {
					assert.Equal(t, want, n)
				}
			})
		})
	}
}
