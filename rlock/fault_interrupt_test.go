package rlock_test

// The faults of a context that ends at a bad moment: X1 and X6.

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks P1 and P3, nil means held and anything else leaves nothing: owners of two processes contend, by every verb,
// and are cancelled at a random moment of the way there, while acquires are held up and answers are late. Those who got
// in are alone; after the others the key is free, the process knows of nothing any more, and nothing was ever renewed.
func TestFault_X1_WhoIsInterruptedHasNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	const calls, processes = 300, 2
	r := newRig(t)
	r.warm()
	r.proxy.DelayReplies(time.Millisecond)
	delays := mishaps(2*time.Millisecond, func() { r.proxy.HoldRequest(rand.N(5*time.Millisecond), 1, acquireScript) })
	began := instant()
	r.warm()
	trip := instant() - began // a few round trips
	var locks [processes]*rlock.Lock
	var clients [processes]*rlock.Client
	for i := range locks {
		clients[i] = r.clientWith(&redis.Options{Addr: r.proxy.Addr()})
		locks[i] = clients[i].NewLock(r.key)
	}
	plain, got := 0, 0 // guarded by the lock
	require.NoError(t, crowd(3*processes, calls, func(i int) error {
		ctx, interrupt := context.WithCancel(someone())
		defer interrupt()
		patience := []time.Duration{trip, 10 * trip, 100 * trip}[i%3] // in flight, in line, or up to the end
		defer time.AfterFunc(rand.N(min(patience, 200*time.Millisecond)), interrupt).Stop()
		err := everyVerb[i%len(everyVerb)](locks[i%processes], ctx, func() {
			seen := plain
			time.Sleep(rand.N(100 * time.Microsecond))
			plain, got = seen+1, got+1
		})
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}))
	delays()
	r.proxy.Heal()
	r.gone(10*time.Second, "far sooner than the lease of 30s")
	t.Logf("%d of %d got in", got, calls)
	assert.Positive(t, got)
	assert.Equal(t, got, plain, "somebody was not alone")
	for _, c := range clients {
		requireNothingLeft(t, c) // a grant that had come to the watchdog would stay there until it is renewed
	}
	assert.Zero(t, r.proxy.Received(renewScript))
}

// Attacks P1 and P3, nil means held: three waiters are cancelled at the very moment at which the holder unlocks. Each
// of them either is inside, alone, or has an error; and whoever comes next gets in.
func TestFault_X6_AWaiterThatIsCancelledIsInsideOrHasAnError(t *testing.T) {
	t.Parallel()
	const rounds, waiters = 30, 3
	r := newRig(t)
	r.warm()
	var inside atomic.Int64
	for round := range rounds {
		holder := someone()
		require.NoError(t, r.rival.Lock(holder))
		cancel, line := r.lineUp(waiters, round, func(s rlock.State, err error) {
			assert.NoError(t, err)
			assert.Equal(t, 1, s.Holds, "nil, and not inside")
			assert.Len(t, r.fields(), 1, "not alone")
			inside.Add(1)
		})
		unlocked := outcome(func() error { return r.rival.Unlock(holder) })
		time.Sleep(rand.N(time.Millisecond << (round % 8))) // before anybody can be in, and after, on any machine
		cancel()
		require.NoError(t, <-unlocked)
		require.NoError(t, inTime(t, 10*time.Second, line, "held or failed"))
		r.free(10*time.Second, "nobody is inside any more")
	}
	t.Logf("%d of %d got in", inside.Load(), rounds*waiters)
	assert.Positive(t, inside.Load())
	assert.Less(t, inside.Load(), int64(rounds*waiters), "nobody was cancelled in time")
}

// everyVerb takes the lock, does the work in it and gives it back.
var everyVerb = []func(l *rlock.Lock, ctx context.Context, work func()) error{
	func(l *rlock.Lock, ctx context.Context, work func()) error {
		if err := l.Lock(ctx); err != nil {
			return err
		}
		work()
		return l.Unlock(ctx)
	},
	func(l *rlock.Lock, ctx context.Context, work func()) error {
		ok, err := l.TryLock(ctx, rlock.Wait(time.Minute))
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("false after less than a minute")
		}
		work()
		return l.Unlock(ctx)
	},
	func(l *rlock.Lock, ctx context.Context, work func()) error {
		h, err := l.Acquire(ctx)
		if err != nil {
			return err
		}
		work()
		return h.Release(ctx)
	},
	func(l *rlock.Lock, ctx context.Context, work func()) error {
		return l.Do(ctx, func(context.Context) error { work(); return nil })
	},
}

// lineUp has waiters wait, each by another verb and until it is cancelled, and shows what those who get in find there.
func (r *rig) lineUp(waiters, verb int, found func(rlock.State, error)) (cancel context.CancelFunc, line <-chan error) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	line = outcome(func() error {
		return crowd(waiters, waiters, func(i int) error {
			mine := ownerid.NewContext(ctx, ownerid.New())
			look := func() { found(r.lock.State(context.WithoutCancel(mine))) }
			err := everyVerb[(verb+i)%len(everyVerb)](r.lock, mine, look)
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		})
	})
	r.eventually(func() bool { return r.client.Leftovers().Seats == waiters && r.listens() }, "they wait")
	return cancel, line
}
