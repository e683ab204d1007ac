package rlock

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/internal/wire"
)

// berths are the places for commands of one kind that are under way, as many as the redis client has connections; nil stands
// for no bound. Who finds none free waits for one here and not within go-redis: there the time in line would pass for a
// silence of Redis, and who gave up would leave a command behind that is sent all the same, and send another. A crowd on many
// names would keep the connections busy with what nobody waits for any more, and fail as a whole although Redis answers all
// the time.
type berths chan struct{}

// newBerths counts the connections of rdb. On Cluster each node has connections of its own, and one that hangs must not keep
// the commands of the others waiting: no bound there.
func newBerths(rdb redis.UniversalClient) berths {
	r, ok := rdb.(*redis.Client)
	if !ok {
		return nil
	}
	n := r.Options().PoolSize
	if most := r.Options().MaxActiveConns; most > 0 {
		n = min(n, most)
	}
	return make(berths, max(n, 1))
}

// take waits for a berth until limit has passed or one of the channels is ready, and reports whether it got one.
func (b berths) take(limit time.Duration, ended, closing <-chan struct{}) bool {
	if b == nil {
		return true
	}
	select {
	case b <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case b <- struct{}{}:
		return true
	case <-timer.C:
	case <-ended:
	case <-closing:
	}
	return false
}

func (b berths) leave() {
	if b != nil {
		<-b
	}
}

var errNoBerth = fmt.Errorf("no connection to spare: %w", os.ErrDeadlineExceeded)

// newcomers are the acquires that begin a hold. They have berths apart from the give-backs, which must not stand in line
// behind those who wait for what is given back.
type newcomers struct {
	berths
	answered atomic.Int64 // when Redis last answered one of them
}

// embark takes a berth, which is to be left again, and says since when Redis is silent as far as this acquire knows. However
// long the line is, it is no outage while others are answered; if nobody is, it ends as a wait for an answer would.
func (a *acquisition) embark(ctx context.Context) (silent time.Duration, err error) {
	began := a.c.set.now()
	lastWord := func() time.Duration { return max(began, time.Duration(a.c.newcomers.answered.Load())) }
	silent = began
	for !a.c.newcomers.take(a.boarding(began, silent), ctx.Done(), a.c.end.closing) {
		if err := a.cancelled(ctx); err != nil {
			return silent, err
		}
		silent = lastWord()
		if a.boarding(began, silent) <= 0 {
			return silent, a.leftAshore(silent)
		}
	}
	return lastWord(), nil
}

// boarding is how long to wait for a berth at most: with as much grace as an answer is waited for.
func (a *acquisition) boarding(began, silent time.Duration) time.Duration {
	until := silent + max(a.c.set.retryBudget, a.c.answer)
	if a.limit > 0 {
		until = min(until, max(a.limit, began+wire.Grace))
	}
	return until - a.c.set.now()
}

// leftAshore is the error of an acquire that could not ask. Who has not asked lately does not know whether the lock is taken:
// then it is the transport's.
func (a *acquisition) leftAshore(silent time.Duration) error {
	now := a.c.set.now()
	switch {
	case a.failure != nil:
		return a.failure
	case now-silent >= a.c.answer:
		return wire.NoAnswer(now - silent)
	case a.heard != 0 && a.heard >= a.limit-fresh:
		return ErrNotAcquired
	default:
		return errNoBerth
	}
}
