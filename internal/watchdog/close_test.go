package watchdog_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/internal/watchdog"
)

func TestCloseUnusedAndTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		r.Close()
		r.Close()
		h, e := r.add("a", period)
		assert.Zero(t, r.Len(), "after Close nothing is taken into care")
		r.Refresh(e)
		time.Sleep(lease)
		synctest.Wait()
		assert.Empty(t, r.batches())
		assert.Empty(t, h.rung())
		r.Remove(e)
	})
}

func TestCloseWithBatchesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		h, e := r.add("a", period)
		time.Sleep(period)
		synctest.Wait()
		s := r.one(t)
		go r.Close()
		r.Close()
		assert.Zero(t, r.Len())
		assert.True(t, r.Forgotten(e))
		s.answer(watchdog.Failed)
		s.answer(watchdog.Renewed)
		r.Remove(e)
		time.Sleep(2 * lease)
		synctest.Wait()
		assert.Zero(t, r.Len())
		assert.Empty(t, r.batches())
		assert.Empty(t, h.rung())
	})
}

// Close waits for the call of Renew that is under way, and no other begins.
func TestCloseDuringATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside := make(chan struct{})
		r := newRig(t, func(*sent) { <-inside })
		for range 250 {
			r.add("a", period)
		}
		time.Sleep(period)
		synctest.Wait()
		var closed atomic.Bool
		go func() {
			r.Close()
			closed.Store(true)
		}()
		synctest.Wait()
		assert.False(t, closed.Load())
		inside <- struct{}{}
		synctest.Wait()
		assert.True(t, closed.Load())
		r.one(t)
	})
}

// Close comes while the second of three holds is being asked: the batch stays,
// and the third is not asked any more.
func TestNothingDepartsAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, closing := make(chan struct{}), make(chan struct{})
		var after atomic.Bool
		r := newRig(t, nil)
		for _, onOver := range []func(){
			func() {},
			func() { close(asked); <-closing },
			func() { after.Store(true) },
		} {
			r.Add(&hold{node: "a", alarm: valid, onOver: onOver}, period)
			time.Sleep(time.Millisecond)
		}
		<-asked
		go r.Close()
		synctest.Wait()
		close(closing)
		r.Close()
		assert.Empty(t, r.batches())
		assert.False(t, after.Load())
	})
}
