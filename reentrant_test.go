// Package rlock_test shows, on a real Redis and on an embedded one, what reentrant means here: the three ways in which
// programs use a lock that its owner may take again.
package rlock_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Use 1: nested acquisition in a call chain. settle locks the order and calls refund, which locks it too, because it is
// also called by others. Neither knows of the other's lock; both hand on the context.
func TestNestedAcquisitionInACallChain(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, s shop) {
		settle := func(ctx context.Context, order string) error {
			return s.locks.NewLock(order).Do(ctx, func(ctx context.Context) error {
				assert.Equal(t, 1, s.levels(t, order), "settle holds it once")
				if err := s.refund(ctx, t, order); err != nil {
					return err
				}
				assert.Equal(t, 1, s.levels(t, order), "refund gave its own level back, and no more")
				assert.False(t, s.isFree(t, order), "so the order is still locked")
				return nil
			})
		}

		require.NoError(t, settle(t.Context(), "order:42"))
		assert.Equal(t, []int{2}, *s.refunds, "refund held it for the second time")
		assert.True(t, s.isFree(t, "order:42"))

		require.NoError(t, s.refund(t.Context(), t, "order:42"), "on its own refund works as well")
		assert.Equal(t, []int{2, 1}, *s.refunds)
		assert.True(t, s.isFree(t, "order:42"))
	})
}

func TestAFailureInsideACallChainFreesTheLock(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, s shop) {
		lock := s.locks.NewLock("order:42")
		errBroke := errors.New("no funds")
		err := lock.Do(t.Context(), func(ctx context.Context) error {
			return lock.Do(ctx, func(context.Context) error { return errBroke })
		})
		require.ErrorIs(t, err, errBroke)
		assert.True(t, s.isFree(t, "order:42"))

		assert.PanicsWithValue(t, "bug", func() {
			_ = lock.Do(t.Context(), func(ctx context.Context) error {
				return lock.Do(ctx, func(context.Context) error { panic("bug") })
			})
		})
		assert.True(t, s.isFree(t, "order:42"))
	})
}

// Use 2: the owner travels in the context. Whoever is handed the context of a hold re-enters, on whichever goroutine.
func TestTheOwnerIsHandedOnThroughTheContext(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, s shop) {
		lock := s.locks.NewLock("order:42")
		hold, err := lock.Acquire(t.Context())
		require.NoError(t, err)

		inGoroutine(func() { // another goroutine, the same owner
			nested, err := lock.TryAcquire(hold.Context())
			if assert.NoError(t, err) {
				assert.Equal(t, 2, s.levels(t, "order:42"))
				assert.NoError(t, nested.Release(hold.Context()))
			}
		})
		inGoroutine(func() { // a goroutine that was handed nothing is somebody else
			_, err := lock.TryAcquire(t.Context())
			assert.ErrorIs(t, err, rlock.ErrNotAcquired)
		})
		assert.Equal(t, 1, s.levels(t, "order:42"))

		inGoroutine(func() { assert.NoError(t, hold.Release(t.Context()), "a hold may be released anywhere") })
		assert.ErrorIs(t, context.Cause(hold.Context()), rlock.ErrReleased, "whoever works under it is told")
		assert.True(t, s.isFree(t, "order:42"))
	})
}

// The footgun of use 2: workers that share the owner do not exclude each other. Before a fan-out to workers that must,
// take the owner out of the context.
func TestAFanOutHidesTheOwner(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, s shop) {
		ctx := ownerid.NewContext(t.Context(), ownerid.New()) // the owner of this call chain
		ledger, balance := s.locks.NewLock("ledger"), 0

		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				assert.NoError(t, ledger.Do(ownerid.Without(ctx), func(context.Context) error {
					seen := balance
					assert.Equal(t, 1, s.levels(t, "ledger"), "nobody nests")
					balance = seen + 1
					return nil
				}))
			})
		}
		workers.Wait()
		assert.Equal(t, 8, balance)
		assert.True(t, s.isFree(t, "ledger"))
	})
}

// Use 3: code ported from Java. lock.lock(); try {…} finally {lock.unlock();} becomes the two lines below and means the
// same: the goroutine is the owner, as the thread is there.
func TestPortedCodeLocksByGoroutine(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, s shop) {
		ctx, lock := t.Context(), s.locks.NewLock("order:42")
		audit := func() {
			require.NoError(t, lock.Lock(ctx))
			defer func() { require.NoError(t, lock.Unlock(ctx)) }()
			assert.Equal(t, 2, s.levels(t, "order:42"), "the goroutine is in for the second time")
		}
		settle := func() {
			require.NoError(t, lock.Lock(ctx))
			defer func() { require.NoError(t, lock.Unlock(ctx)) }()
			audit()
			assert.Equal(t, 1, s.levels(t, "order:42"))
			inGoroutine(func() {
				got, err := lock.TryLock(ctx)
				assert.NoError(t, err)
				assert.False(t, got, "another goroutine is kept out")
				assert.ErrorIs(t, lock.Unlock(ctx), rlock.ErrNotHeld, "and cannot unlock what is not its own")
			})
		}

		settle()
		assert.True(t, s.isFree(t, "order:42"))
		require.ErrorIs(t, lock.Unlock(ctx), rlock.ErrNotHeld, "IllegalMonitorStateException there")
	})
}

// tryLock(wait, lease, unit) of Redisson: it waits no longer than wait, and the lock ends by itself when the lease is over.
func TestPortedCodeTriesWithWaitAndLease(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, s shop) {
		ctx, lock := t.Context(), s.locks.NewLock("order:42")
		const wait, lease = 100 * time.Millisecond, 10 * time.Second
		got, err := lock.TryLock(ctx, rlock.Wait(wait), rlock.Lease(lease))
		require.NoError(t, err)
		require.True(t, got)
		left := s.rdb.PTTL(ctx, "order:42").Val()
		assert.LessOrEqual(t, left, lease)
		assert.Greater(t, left, lease/2)

		inGoroutine(func() {
			began := time.Now()
			got, err := lock.TryLock(ctx, rlock.Wait(wait), rlock.Lease(lease))
			assert.NoError(t, err)
			assert.False(t, got)
			assert.GreaterOrEqual(t, time.Since(began), wait)
		})
		waiting := make(chan error)
		go func() {
			got, err := lock.TryLock(ctx, rlock.Wait(time.Minute), rlock.Lease(time.Second))
			assert.True(t, got)
			waiting <- err
			assert.Eventually(t, func() bool { return s.isFree(t, "order:42") }, 10*time.Second, 20*time.Millisecond,
				"it works for too long, and the lease ends")
			waiting <- lock.Unlock(ctx)
		}()
		require.NoError(t, lock.Unlock(ctx))
		require.NoError(t, <-waiting, "the other goroutine is in as soon as this one is out")
		require.ErrorIs(t, <-waiting, rlock.ErrLost, "and learns that it was too late")
	})
}

// shop is what the tests work on.
type shop struct {
	rdb     *redis.Client
	locks   *rlock.Client
	refunds *[]int // how many levels the order had under each refund
}

func (s shop) refund(ctx context.Context, t *testing.T, order string) error {
	t.Helper()
	return s.locks.NewLock(order).Do(ctx, func(context.Context) error {
		*s.refunds = append(*s.refunds, s.levels(t, order))
		return nil
	})
}

// levels is the count that stands in Redis.
func (s shop) levels(t *testing.T, name string) int {
	t.Helper()
	fields, err := s.rdb.HGetAll(context.Background(), name).Result()
	require.NoError(t, err)
	require.LessOrEqual(t, len(fields), 1, "one holder at most: %v", fields)
	for _, count := range fields {
		n, err := strconv.Atoi(count)
		require.NoError(t, err)
		return n
	}
	return 0
}

func (s shop) isFree(t *testing.T, name string) bool {
	t.Helper()
	n, err := s.rdb.Exists(context.Background(), name).Result()
	require.NoError(t, err)
	return n == 0
}

// onEveryRedis runs a test on the embedded Redis, and on a real server where there is one.
func onEveryRedis(t *testing.T, test func(*testing.T, shop)) {
	t.Run("embedded", func(t *testing.T) {
		embedded := miniredis.RunT(t)
		embedded.ClockTTL(true)
		rdb := redis.NewClient(&redis.Options{Addr: embedded.Addr()})
		t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
		test(t, open(t, rdb))
	})
	t.Run("server", func(t *testing.T) {
		rdb := redistest.Shared(t).Client(t)
		require.NoError(t, rdb.FlushDB(t.Context()).Err())
		test(t, open(t, rdb))
	})
}

func open(t *testing.T, rdb *redis.Client) shop {
	t.Helper()
	locks, err := rlock.New(rdb)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		assert.NoError(t, locks.Close(ctx), "everything was given back")
	})
	return shop{rdb: rdb, locks: locks, refunds: new([]int)}
}

// inGoroutine runs f on another goroutine and waits for it.
func inGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
