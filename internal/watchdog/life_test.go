package watchdog_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/watchdog"
)

func TestRemoveEndsRenewalsAndAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		h, e := r.add("a", period)
		time.Sleep(period - 1)
		r.Remove(e)
		r.Remove(e)
		assert.Zero(t, r.Len())
		time.Sleep(2 * lease)
		synctest.Wait()
		assert.Empty(t, r.batches())
		assert.Empty(t, h.rung())
	})
}

// While Renew is being called nobody can tell what it has read already, so Remove
// waits for it; of other holds, and of batches that were handed over, it does not.
func TestRemoveWaitsForTheCallOfRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside := make(chan struct{})
		r := newRig(t, func(*sent) { <-inside })
		_, e := r.add("a", period)
		_, other := r.add("a", 2*period)
		time.Sleep(period)
		synctest.Wait()
		s := r.one(t) // Renew is under way

		r.Remove(other)
		var returned atomic.Int32
		for range 2 {
			go func() {
				r.Remove(e)
				returned.Add(1)
			}()
		}
		synctest.Wait()
		assert.Zero(t, returned.Load())
		assert.Zero(t, r.Len())
		s.done(0, watchdog.Renewed) // brings nothing back either
		assert.Zero(t, r.Len())
		inside <- struct{}{}
		synctest.Wait()
		assert.EqualValues(t, 2, returned.Load())
		assert.True(t, r.Forgotten(e))
	})
}

func TestRemoveWithinRenewDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var entries sync.Map
		r = newRig(t, func(s *sent) {
			e, _ := entries.Load(s.holds[0])
			r.Remove(e.(*watchdog.Entry))
			s.answer(watchdog.Renewed)
		})
		for range 2 {
			h, e := r.add("a", period)
			entries.Store(h, e)
		}
		time.Sleep(period)
		synctest.Wait()
		assert.Equal(t, 1, r.Len())
	})
}

func TestRingMayRemoveAndAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		var e atomic.Pointer[watchdog.Entry]
		h := &hold{node: "a", alarm: valid}
		h.onRing = func(time.Duration) {
			r.Remove(e.Load())
			r.add("a", time.Second)
		}
		e.Store(r.Add(h, watchdog.Never))
		time.Sleep(valid + time.Second)
		synctest.Wait()
		assert.True(t, r.Forgotten(e.Load()))
		assert.Equal(t, valid+time.Second, r.one(t).at)
		assert.Len(t, h.rung(), 1)
	})
}

// Removed after it was put into a batch and before the batch is sent.
func TestRemoveFromABatchThatIsBeingFilled(t *testing.T) {
	for name, third := range map[string]bool{"others stay": true, "nobody is left": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, renew(0))
				_, first := r.add("a", period)
				want := 0
				if third {
					r.add("a", period)
					want = 1
				}
				time.Sleep(time.Millisecond)
				late := &hold{node: "b", alarm: valid, over: true, onOver: func() { r.Remove(first) }}
				r.Add(late, period)
				time.Sleep(period)
				synctest.Wait()
				b := r.batches()
				require.Len(t, b, want)
				for _, s := range b {
					assert.Len(t, s.holds, 1)
				}
				assert.Equal(t, want, r.Len())
			})
		})
	}
}
