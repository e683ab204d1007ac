package stress_test

import (
	"sync"
	"testing"
	"time"
)

// stalls knows how late this machine woke a goroutine, and when: what an assertion about time may allow for, and no more.
type stalls struct {
	mu   sync.Mutex // guards seen
	seen []stall
}

type stall struct{ from, to time.Duration }

// watchStalls looks until the test ends.
func watchStalls(t *testing.T) *stalls {
	t.Helper()
	const tick = 2 * time.Millisecond
	s, end := &stalls{}, make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticks := time.NewTicker(tick)
		defer ticks.Stop()
		for before := instant(); ; {
			select {
			case <-end:
				return
			case <-ticks.C:
			}
			now := instant()
			if now-before > 3*tick {
				s.note(stall{from: before + tick, to: now})
			}
			before = now
		}
	})
	t.Cleanup(func() { close(end); running.Wait() })
	return s
}

func (s *stalls) note(found stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, found)
}

// within is how much of that time the machine was late, all in all.
func (s *stalls) within(from, to time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum time.Duration
	for _, found := range s.seen {
		sum += max(min(found.to, to)-max(found.from, from), 0)
	}
	return sum
}
