package watchdog_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/internal/watchdog"
)

// Everything at once: after Remove has returned, Renew must not see the hold any
// more, the heap stays in order, and nothing is left. In real time, because here
// the clock is one of the racers, and in a bubble it stands still while anybody
// runs.
func TestRemoveRacesRenewals(t *testing.T) {
	type flagged struct {
		hold
		removed atomic.Bool
	}
	start := time.Now()
	var renewals, late atomic.Int64
	var answering sync.WaitGroup
	w := watchdog.New(watchdog.Config{
		Clock:  func() time.Duration { return time.Since(start) },
		Period: time.Millisecond,
		Batch:  7,
		Renew: func(batch []watchdog.Hold, done func(int, watchdog.Result)) {
			answer := func() {
				for i := range batch {
					done(i, watchdog.Result(rand.IntN(3)))
				}
			}
			for _, h := range batch {
				if h.(*flagged).removed.Load() {
					late.Add(1)
				}
			}
			renewals.Add(int64(len(batch)))
			if rand.IntN(4) == 0 {
				answer()
			} else {
				answering.Go(answer)
			}
		},
	})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			var mine []*flagged
			var entries []*watchdog.Entry
			// Until there were enough renewals to race with, however slow the machine.
			for i := 0; i < 2000 || renewals.Load() < 3000; i++ {
				h := &flagged{hold: hold{node: string(rune('a' + i%3)), alarm: time.Since(start) + time.Duration(rand.IntN(20))*time.Millisecond}}
				mine, entries = append(mine, h), append(entries, w.Add(h, time.Duration(1+rand.IntN(2000))*time.Microsecond))
				if i%50 == 0 {
					w.Refresh(entries[rand.IntN(len(entries))])
				}
				if len(mine) > 64 || rand.IntN(2) == 0 {
					n := rand.IntN(len(mine))
					w.Remove(entries[n])
					mine[n].removed.Store(true)
					mine, entries = append(mine[:n], mine[n+1:]...), append(entries[:n], entries[n+1:]...)
				}
				if i%16 == 0 {
					runtime.Gosched() // on a busy machine the watchdog gets its turn sooner
				}
				if g == 0 && i%100 == 0 {
					assert.Equal(t, -1, w.Broken())
				}
			}
			for _, e := range entries {
				w.Remove(e)
				assert.True(t, w.Forgotten(e))
			}
		})
	}
	all.Wait()
	assert.Zero(t, w.Len())
	w.Close()
	answering.Wait()
	assert.Zero(t, late.Load(), "renewals begun after Remove had returned")
	assert.Zero(t, w.Len())
}
