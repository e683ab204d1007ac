package stress_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// P6: tight Lock and Unlock under renewals that come as often as the settings allow, and on a network that delays and repeats
// renewals alone. Once the last Unlock has said yes the field is gone, and no renewal brings it back. A third of the holds
// have an inner level with a lease of a minute, which what is left would show.
func TestStress_RenewalsAgainstUnlock(t *testing.T) {
	p, s := newPlan(t), newStage(t)
	var renewals, asked atomic.Int64
	for i, watchdog := range []time.Duration{time.Millisecond, 6 * time.Millisecond, 30 * time.Millisecond, 150 * time.Millisecond} {
		proxy := s.proxy()
		late(proxy, p.dice("network", i), watchdog, &renewals)
		a := renewing{p: p, s: s, watchdog: watchdog, asked: &asked, c: s.client(
			redis.Options{Addr: proxy.Addr()}, rlock.WithWatchdogTimeout(watchdog), rlock.WithRetryBudget(100*time.Millisecond))}
		n := tenth(3_000)
		if watchdog < 5*time.Millisecond {
			n = tenth(1_000) // most of them come to nothing: such a lease is over before it is granted
		}
		var last [4]string // the field of each worker's newest hold
		from := instant()
		crew(len(last), n, func(worker, i int) { a.one(worker, p.dice("lock", int(watchdog), i), &last[worker]) })
		t.Logf("watchdog %v: %d times, %d of them granted, %d lost, in %v", watchdog, n, a.granted.Load(), a.lost.Load(),
			(instant() - from).Round(time.Millisecond))
	}
	t.Logf("%d renewals reached the networks", renewals.Load())
	assert.Positive(t, renewals.Load())
	s.requireNoKeys(3 * time.Second)
	s.verdict(&history{})
	s.closeAll()
}

// late is a network that delays a half of the renewals, some of them beyond the lease, and repeats a quarter.
func late(proxy *faultproxy.Proxy, d dice, watchdog time.Duration, count *atomic.Int64) {
	repeat := dice{d.Rand} // asked under the same mutex
	some := func(of float64) faultproxy.Match {
		return faultproxy.And(faultproxy.Script("renew"), func([]string) bool { return repeat.chance(of) })
	}
	for _, delay := range []time.Duration{watchdog / 10, watchdog / 3, watchdog} {
		proxy.HoldRequest(max(delay, time.Millisecond), faultproxy.Every, some(0.2))
		proxy.RepeatRequest(delay, faultproxy.Every, some(0.08))
	}
	proxy.DelayReplies(0, faultproxy.And(faultproxy.Script("renew"), func([]string) bool { count.Add(1); return false }))
}

type renewing struct {
	p             plan
	s             *stage
	c             *rlock.Client
	watchdog      time.Duration
	granted, lost atomic.Int64
	asked         *atomic.Int64
}

// one takes a lock that nobody else wants, holds it for about as long as it takes to be renewed, and gives it back.
func (a *renewing) one(worker int, d dice, last *string) {
	if a.s.bad.any() {
		return
	}
	name := fmt.Sprint("lock", a.watchdog, "-", worker)
	l, ctx := a.c.NewLock(name), someone()
	hold := d.upTo(2*a.watchdog/3 + time.Millisecond)
	if err := l.Lock(ctx, rlock.Wait(10*time.Second)); err != nil {
		if errors.Is(err, rlock.ErrNotAcquired) {
			a.s.bad.add("%s is taken, and nobody else wants it: %v", name, err)
		}
		return // nothing is granted in time
	}
	a.granted.Add(1)
	fields, err := a.s.raw.HKeys(context.Background(), name).Result()
	a.s.bad.unexpected(err, "looking at Redis")
	deep := d.chance(0.3) && l.Lock(ctx, rlock.Lease(time.Minute)) == nil
	time.Sleep(hold)
	if deep {
		err = l.Unlock(ctx)
	}
	if last := l.Unlock(ctx); last != nil || err != nil {
		a.expectLoss(errors.Join(last, err))
		return
	}
	a.isGone(name, *last)
	for _, field := range fields {
		a.isGone(name, field)
		*last = field
	}
}

func (a *renewing) expectLoss(err error) {
	a.lost.Add(1)
	if !errors.Is(err, rlock.ErrLost) {
		a.s.bad.unexpected(err, "unlock")
	}
}

// isGone asserts that a field whose hold was given back is not there.
func (a *renewing) isGone(name, field string) {
	if field == "" {
		return
	}
	there, err := a.s.raw.HExists(context.Background(), name, field).Result()
	a.s.bad.unexpected(err, "looking at Redis")
	if there {
		a.s.bad.add("%s: the field %s is there after the last unlock", name, field)
	}
}
