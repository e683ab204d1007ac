package stress_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

const (
	cancelWorkers = 4
	cancelNames   = 16
)

// P3, P10: acquires that are cancelled at a random moment, on locks that others hold now and then and on a server that stands
// still now and then. What was not granted leaves nothing: no key, with a lease of half a minute, no subscription, no
// goroutine, and no memory.
func TestStress_CancelledAcquires(t *testing.T) {
	p, s := newPlan(t), newStage(t, redistest.Config("enable-debug-command", "yes"))
	a := cancelling{p: p, s: s, c: s.steady()}
	stop := a.disturb()
	n := tenth(5_000)
	a.run("warm", max(n/10, 100))
	before := heap()
	a.run("direct", n)
	stop()
	s.requireNoKeys(3 * time.Second)
	s.requireNoChannels() // a channel lingers for a second, and is memory until then
	after := heap()
	t.Logf("%d acquires, %d of them granted, %d without any answer; heap %d KiB before and %d KiB after",
		n, a.granted.Load(), a.silent.Load(), before>>10, after>>10)
	assert.Less(t, after, before+512<<10, "memory is left")
	s.verdict(&history{})
	s.closeAll()
}

// P2, P3: the same behind a network that delivers each third request late, so that most acquires are cancelled under way, and
// many are granted after their caller has gone.
func TestStress_CancelledAcquiresUnderWay(t *testing.T) {
	p, s := newPlan(t), newStage(t)
	proxy := s.proxy()
	d := p.dice("network")
	for _, delay := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		proxy.HoldRequest(delay, faultproxy.Every, func(cmd []string) bool { return isScript(cmd) && d.chance(0.1) })
	}
	a := cancelling{p: p, s: s, c: s.client(hasty(proxy.Addr(), 3*time.Second))}
	for i := range cancelNames { // the connections are to be there
		s.bad.unexpected(a.c.NewLock(fmt.Sprint("lock", i)).Do(someone(), func(context.Context) error { return nil }), "do")
	}
	n := tenth(5_000)
	a.run("late", n)
	t.Logf("%d acquires, %d of them granted, %d without any answer", n, a.granted.Load(), a.silent.Load())
	s.requireQuiet(proxy) // go-redis sends what waited for a connection although its caller has gone
	s.requireNoKeys(time.Second)
	s.requireNoChannels()
	s.verdict(&history{})
	s.closeAll()
}

// requireQuiet waits until no request has come for a while.
func (s *stage) requireQuiet(proxy *faultproxy.Proxy) {
	s.t.Helper()
	const quiet = 500 * time.Millisecond
	from, seen, since := instant(), -1, instant()
	assert.True(s.t, within(time.Minute, func() bool {
		if now := proxy.Received(faultproxy.Any); now != seen {
			seen, since = now, instant()
		}
		return instant()-since > quiet
	}), "requests come without an end")
	s.t.Logf("the last request came after %v", (since - from).Round(time.Millisecond))
}

type cancelling struct {
	p       plan
	s       *stage
	c       *rlock.Client
	granted atomic.Int64
	silent  atomic.Int64 // ended before Redis had answered anything
}

// run cancels n acquires.
func (a *cancelling) run(what string, n int) {
	crew(cancelWorkers, n, func(_, i int) { a.one(a.p.dice(what, i)) })
}

// one is an acquire with a context that ends after a time in which some are granted and some wait.
func (a *cancelling) one(d dice) {
	l, owner := a.c.NewLock(fmt.Sprint("lock", d.IntN(cancelNames))), someone()
	ctx, cancel := context.WithCancel(owner)
	defer cancel()
	after := 50 * time.Microsecond << d.IntN(12) // the shortest are over before anything is sent
	after += d.upTo(after)
	timer := time.AfterFunc(after, cancel)
	defer timer.Stop()
	var (
		err error
		got bool
	)
	switch d.IntN(4) {
	case 0:
		err = l.Lock(ctx)
		got = err == nil
	case 1:
		got, err = l.TryLock(ctx, rlock.Wait(d.between(time.Millisecond, 50*time.Millisecond)))
	case 2:
		got, err = l.TryLock(ctx)
	default:
		err = l.Do(ctx, func(context.Context) error { a.granted.Add(1); return nil })
		if err == nil {
			return
		}
	}
	if got {
		a.granted.Add(1)
		a.s.bad.unexpected(l.Unlock(owner), "unlock")
		return
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded): // Redis was silent for longer than a healthy one: nobody knows who has the lock
		a.silent.Add(1)
	case err != nil && (!errors.Is(err, context.Canceled) || !errors.Is(err, rlock.ErrNotAcquired)):
		a.s.bad.add("the end of a cancelled acquire: %v", err)
	}
	if _, held := l.Held(owner); held {
		a.s.bad.add("held after %v", err)
	}
	if err := l.Unlock(owner); !errors.Is(err, rlock.ErrNotHeld) {
		a.s.bad.add("unlock after a cancelled acquire: %v", err)
	}
}

// disturb has another Client hold the locks now and then, and the server stand still.
func (a *cancelling) disturb() (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	rival := a.s.steady()
	running.Go(func() {
		for d := a.p.dice("rival"); !isOver(over); time.Sleep(d.upTo(2 * time.Millisecond)) {
			err := rival.NewLock(fmt.Sprint("lock", d.IntN(cancelNames))).Do(context.Background(), func(context.Context) error {
				time.Sleep(d.upTo(5 * time.Millisecond))
				return nil
			})
			a.s.bad.unexpected(err, "the rival")
		}
	})
	running.Go(func() {
		for d := a.p.dice("server"); !isOver(over); time.Sleep(d.upTo(50 * time.Millisecond)) {
			a.s.bad.unexpected(a.s.raw.Do(context.Background(), "DEBUG", "SLEEP", "0.01").Err(), "DEBUG SLEEP")
		}
	})
	return func() { close(over); running.Wait() }
}

func isOver(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}

// heap is what lives in memory.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one only unlinked, from pools above all
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
