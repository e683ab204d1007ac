package stress_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// P6, P7: a process that holds the lock is killed at a random moment. Whoever waits has the lock within a lease and a second.
func TestStress_KilledHolders(t *testing.T) {
	const lease, lanes = 600 * time.Millisecond, 4
	p, s := newPlan(t), newStage(t)
	late := watchStalls(t)
	c := s.direct()
	n := tenth(100)
	waits := make([]time.Duration, n)
	crew(lanes, n, func(_, i int) {
		d, name := p.dice("kill", i), fmt.Sprint("lock", i)
		holder := s.start(killedRole, name, lease)
		if err := holder.held(name); err != nil {
			s.bad.unexpected(err, "the holder")
			return
		}
		granted := make(chan time.Duration)
		go func() { granted <- s.waitFor(c.NewLock(name)) }()
		time.Sleep(d.upTo(3 * lease / 2)) // the waiter may come before the end or after it
		from := instant()
		holder.kill()
		got := <-granted
		waits[i] = got - from
		if waits[i] < 0 {
			s.bad.add("the lock of a holder that lived was taken over")
		}
		if waits[i] > lease+time.Second+late.within(from, got) {
			s.bad.add("a waiter had to wait for %v after the kill", waits[i])
		}
	})
	var longest time.Duration
	for _, wait := range waits {
		longest = max(longest, wait)
	}
	t.Logf("%d holders were killed; the longest wait was %v, the lease is %v", n, longest.Round(time.Millisecond), lease)
	s.requireNoKeys(time.Second)
	s.verdict(&history{})
	s.requireNoChannels()
	s.closeAll()
}

// waitFor takes the lock, gives it back, and says when it was granted.
func (s *stage) waitFor(l *rlock.Lock) time.Duration {
	ctx, cancel := context.WithTimeout(someone(), time.Minute)
	defer cancel()
	s.bad.unexpected(l.Lock(ctx), "the waiter")
	got := instant()
	s.bad.unexpected(l.Unlock(ctx), "the waiter's unlock")
	return got
}

// rival is a Client that is kept for the test.
func (s *stage) rival() *rlock.Client {
	s.t.Helper()
	if len(s.actors) == 0 {
		s.direct()
	}
	require.NotEmpty(s.t, s.actors)
	return s.actors[0].Client
}
