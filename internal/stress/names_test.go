package stress_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// P10: nothing per name outlives its last holder. A million names are locked once each, and memory and goroutines are what
// they were after the first few thousand.
func TestStress_ManyNames(t *testing.T) {
	_, s := newPlan(t), newStage(t)
	c := s.steady()
	const workers = 64
	once := func(what string, n int) {
		crew(workers, n, func(_, i int) {
			l, ctx := c.NewLock("lock"+what+strconv.Itoa(i)), someone()
			s.bad.unexpected(l.Lock(ctx), "lock")
			s.bad.unexpected(l.Unlock(ctx), "unlock")
		})
	}
	once("warm", 2_000)
	before, goroutines := heap(), runtime.NumGoroutine()
	n, from := share(1_000_000, 50), instant()
	once("", n)
	took := instant() - from
	assert.True(t, within(5*time.Second, func() bool { return runtime.NumGoroutine() <= goroutines }), "goroutines are left")
	after := heap()
	t.Logf("%d names in %v; heap %d KiB before and %d KiB after", n, took.Round(time.Millisecond), before>>10, after>>10)
	assert.Less(t, after, before+256<<10, "memory is left: less than a byte for each of the million names")
	s.requireNoKeys(0)
	s.verdict(&history{})
	s.closeAll()
}

// P7, P10: crowds of waiters come, and half of each gives up and the other half gets in. After them memory and goroutines are
// what they were after the first crowd, and close to what they were before it.
func TestStress_ManyWaiters(t *testing.T) {
	const names, crowds = 200, 5
	_, s := newPlan(t), newStage(t)
	c, holder := s.steady(), s.steady()
	n := tenth(10_000) / crowds
	park(3 * n) // Go itself never forgets how many goroutines there were at once
	comeAndGo(s, c, holder, names, names)
	start, goroutines := heap(), runtime.NumGoroutine()
	comeAndGo(s, c, holder, names, n)
	first := heap()
	for range crowds - 1 {
		comeAndGo(s, c, holder, names, n)
	}
	last := heap()
	t.Logf("%d crowds of %d: heap %d KiB before the first, %d KiB after it, %d KiB after the last",
		crowds, n, start>>10, first>>10, last>>10)
	assert.Less(t, first, start+256<<10+uint64(200*n), "memory is left")
	assert.Less(t, last, first+256<<10, "memory is left by each crowd")
	assert.True(t, within(5*time.Second, func() bool { return runtime.NumGoroutine() <= goroutines }), "goroutines are left")
	s.requireNoKeys(0)
	s.verdict(&history{})
	s.closeAll()
}

// comeAndGo lets a crowd wait for locks that another Client holds, until half of it gives up and the rest gets in.
func comeAndGo(s *stage, c, holder *rlock.Client, names, waiters int) {
	s.t.Helper()
	held := make([]*rlock.Hold, names)
	for i := range held {
		h, err := holder.NewLock(fmt.Sprint("lock", i)).Acquire(someone())
		require.NoError(s.t, err)
		held[i] = h
	}
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	var crowd, quitters sync.WaitGroup
	for i := range waiters {
		l := c.NewLock(fmt.Sprint("lock", i%names))
		if i/names%2 == 1 {
			quitters.Go(func() { s.quit(ctx, l) })
			continue
		}
		crowd.Go(func() { s.bad.unexpected(l.Do(someone(), func(context.Context) error { return nil }), "a waiter") })
	}
	waited := min(names, waiters)
	assert.True(s.t, within(30*time.Second, func() bool {
		return len(s.raw.PubSubChannels(context.Background(), "*").Val()) >= waited
	}), "the waiters subscribe")
	giveUp()
	quitters.Wait()
	for _, h := range held {
		require.NoError(s.t, h.Release(context.Background()))
	}
	crowd.Wait()
	s.requireNoChannels()
}

// park has so many goroutines live at once.
func park(n int) {
	var all sync.WaitGroup
	over := make(chan struct{})
	for range n {
		all.Go(func() { <-over })
	}
	close(over)
	all.Wait()
}

// quit waits until the crowd gives up.
func (s *stage) quit(ctx context.Context, l *rlock.Lock) {
	if _, err := l.Acquire(ctx); err == nil {
		s.bad.add("a waiter got a lock that is held")
	}
}
