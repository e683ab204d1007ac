package watchdog_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/watchdog"
)

// W1, W16: failures are retried, ever less often, until the hold's time is up.
func TestFailedIsRetriedUntilTheAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *sent) { s.answer(watchdog.Failed) })
		h, e := r.add("a", period)
		time.Sleep(valid)
		synctest.Wait()
		assert.Equal(t, []time.Duration{valid}, h.rung())
		assert.True(t, r.Forgotten(e))

		b := r.batches()
		require.Greater(t, len(b), 10)
		assert.Equal(t, period, b[0].at)
		retry := 100 * time.Millisecond
		for i := 1; i < len(b); i++ {
			pause, left := b[i].at-b[i-1].at, valid-b[i-1].at
			want := min(retry<<(i-1), period, max(left/2, retry))
			assert.LessOrEqual(t, pause, want, "pause %d", i)
			assert.GreaterOrEqual(t, pause, want*3/4, "pause %d", i)
		}
		assert.Greater(t, b[len(b)-1].at, valid-2*retry, "it is tried to the end")
		time.Sleep(lease)
		synctest.Wait()
		assert.Empty(t, r.batches())
	})
}

func TestSuccessEndsTheBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := []watchdog.Result{watchdog.Failed, watchdog.Failed, watchdog.Failed, watchdog.Renewed, watchdog.Failed, watchdog.Renewed}
		r := newRig(t, func(s *sent) {
			s.answer(results[0])
			results = results[1:]
		})
		h, _ := r.add("a", period)
		time.Sleep(3 * period)
		synctest.Wait()
		b := r.batches()
		require.Len(t, b, 6)
		assert.Equal(t, period, b[4].at-b[3].at)
		assert.LessOrEqual(t, b[5].at-b[4].at, 100*time.Millisecond, "the first pause again")
		assert.Empty(t, h.rung())
	})
}

// What failed together is retried together: a thousand holds of a node that is
// down must not turn into a thousand batches.
func TestRetriesStayInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *sent) { go s.answer(watchdog.Failed) })
		for range 1000 {
			r.add("a", period)
		}
		time.Sleep(period + 2*time.Second)
		synctest.Wait()
		var holds int
		b := r.batches()
		for _, s := range b {
			holds += len(s.holds)
		}
		assert.Greater(t, holds, 4000)
		assert.Less(t, len(b), 10+holds/1000*35)
	})
}

// W11: a few renewals are slow, or break the connection for those that come after
// them. What shared a batch with one of them is renewed in time all the same, and
// nobody else notices.
func TestWhatFailsTakesNoOthersWithIt(t *testing.T) {
	for name, send := range map[string]func(*sent, int){
		"slow": func(s *sent, _ int) {
			time.Sleep(lease / 6) // the time-out of the attempt
			s.answer(watchdog.Failed)
		},
		"cut": func(s *sent, bad int) {
			for i, h := range s.holds {
				if i >= bad {
					s.done(i, watchdog.Failed)
					continue
				}
				h.setAlarm(s.at + valid)
				s.done(i, watchdog.Renewed)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(s *sent) {
					go func() {
						if bad := slices.IndexFunc(s.holds, func(h *hold) bool { return h.onOver != nil }); bad >= 0 {
							send(s, bad)
							return
						}
						s.answer(watchdog.Renewed)
					}()
				})
				holds := make([]*hold, 400)
				for i := range holds {
					holds[i] = &hold{node: "a", alarm: r.now() + valid}
					if i%100 == 50 {
						holds[i].onOver = func() {} // marks it
					}
					r.Add(holds[i], period)
				}
				time.Sleep(4 * lease)
				synctest.Wait()
				for i, h := range holds {
					assert.Equal(t, i%100 == 50, h.rung() != nil, "hold %d", i)
				}
				r.Close()
				time.Sleep(lease)
			})
		})
	}
}
