package rlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

const (
	narrowDelay = 20 * time.Millisecond   // of each answer
	narrowStorm = 1500 * time.Millisecond // longer than the retry budget, and than the lease of a hold that is not renewed
	hasty       = 32                      // callers at a time
)

// narrow is a Client with few connections to a Redis that is slow but answers all the time, and a hold of its.
type narrow struct {
	*rig
	held context.Context
}

func newNarrow(t *testing.T) *narrow {
	t.Helper()
	n := &narrow{rig: newRigOn(t, redistest.Start(t))}
	n.warm()
	n.client = n.clientWith(&redis.Options{Addr: n.proxy.Addr(), ReadTimeout: answerTime, PoolSize: 4}, quietly,
		rlock.WithWatchdogTimeout(narrowStorm-200*time.Millisecond), rlock.WithRetryBudget(time.Second))
	held, err := n.client.NewLock(n.key).Acquire(someone())
	require.NoError(t, err)
	n.held = held.Context()
	return n
}

// crowds lets everybody of a crowd call again and again. Meanwhile a patient caller gets in each time, and the hold is renewed.
func (n *narrow) crowds(call func(i, k int)) {
	n.t.Helper()
	over := make(chan struct{})
	var all sync.WaitGroup
	for i := range hasty {
		all.Go(func() {
			for k := 0; !isOver(over); k++ {
				call(i, k)
			}
		})
	}
	n.servesThePatient(narrowStorm)
	close(over)
	all.Wait()
	assert.NoError(n.t, n.held.Err(), "the hold: %v", context.Cause(n.held))
}

func (n *narrow) servesThePatient(d time.Duration) {
	n.t.Helper()
	patient := n.client.NewLock(n.key + ":patient")
	for end := instant() + d; instant() < end && !n.t.Failed(); {
		began := instant()
		assert.NoError(n.t, patient.Do(someone(), doNothing), "a patient caller, after %v", instant()-began)
	}
}

func doNothing(context.Context) error { return nil }

// giveUpEarly calls for a lock in a context that ends before any answer can come.
func giveUpEarly(ctx context.Context, l *rlock.Lock) {
	ctx, cancel := context.WithTimeout(ctx, narrowDelay/2)
	defer cancel()
	if h, err := l.Acquire(ctx); err == nil { // a busy machine ends contexts late
		_ = h.Release(ctx)
	}
}

// Attacks promises P3 and P5: what hasty callers leave behind, each on a name of its own, crowds out neither those who wait nor
// the renewals.
func TestFault_P6_HastyCallersCrowdNobodyOut(t *testing.T) {
	t.Parallel()
	n := newNarrow(t)
	n.proxy.DelayReplies(narrowDelay)
	n.crowds(func(i, k int) {
		giveUpEarly(someone(), n.client.NewLock(nameOf(t, i)+nameOf(t, k)))
	})
	n.eventually(func() bool { return n.client.Leftovers().Orphans == 0 }, "all is given back")
}

// Attacks promises P3 and P5: likewise of callers who are hasty within holds of their own. None of those is lost.
func TestFault_P6_HastyNestedCallersCrowdNobodyOut(t *testing.T) {
	t.Parallel()
	n := newNarrow(t)
	var outer [hasty]*rlock.Hold
	for i := range outer {
		var err error
		outer[i], err = n.client.NewLock(nameOf(t, i)).Acquire(someone())
		require.NoError(t, err)
	}
	n.proxy.DelayReplies(narrowDelay)
	n.crowds(func(i, _ int) {
		giveUpEarly(outer[i].Context(), n.client.NewLock(nameOf(t, i)))
	})
	assert.NoError(t, crowd(hasty, hasty, func(i int) error { return outer[i].Release(context.Background()) }))
	assert.Zero(t, levelsIn(t, n.raw, nameOf(t, 0)))
}

// Attacks promises P5 and P8: very many holders give back at the same moment. Others get in and are renewed meanwhile, and every
// holder is told that its lock is free.
func TestFault_P6_ACrowdOfGiveBacksCrowdsNobodyOut(t *testing.T) {
	t.Parallel()
	n := newNarrow(t)
	var holds [800]*rlock.Hold
	for i := range holds {
		var err error
		holds[i], err = n.client.NewLock(nameOf(t, i)).Acquire(someone(), rlock.Lease(time.Minute))
		require.NoError(t, err)
	}
	n.proxy.DelayReplies(narrowDelay)
	given := outcome(func() error {
		return crowd(len(holds), len(holds), func(i int) error { return holds[i].Release(context.Background()) })
	})
	n.servesThePatient(time.Second)
	assert.NoError(t, inTime(t, soonEnough, given, "the crowd"))
	assert.NoError(t, n.held.Err(), "the hold: %v", context.Cause(n.held))
}

// Attacks promises P3 and P10: many names share one connection. Everybody gets in, nobody is told of an outage, and Close is
// as quick as ever.
func TestFault_P6_ManyNamesOnOneConnection(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), PoolSize: 1})
	defer func() { _ = rdb.Close() }()
	c, err := rlock.New(rdb, quietly, rlock.WithRetryBudget(time.Second))
	require.NoError(t, err)
	assert.NoError(t, crowd(200, 2000, func(i int) error {
		return c.NewLock(nameOf(t, i%17)).Do(someone(), doNothing)
	}))
	assert.NoError(t, c.Close(shortly(t, soonEnough)))
}
