package rlock_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// newClient makes a Client on rdb that is closed at the end of the test. What the test left held only delays that a little.
func newClient(t testing.TB, rdb redis.UniversalClient, opts ...rlock.Option) *rlock.Client {
	t.Helper()
	c, err := rlock.New(rdb, opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// someone is a context of an owner of its own.
func someone() context.Context { return ownerid.NewContext(context.Background(), ownerid.New()) }

// levelsIn is how many levels Redis counts under a key, whoever holds them.
func levelsIn(t testing.TB, rdb redis.UniversalClient, key string) int {
	t.Helper()
	counts, err := rdb.HVals(context.Background(), key).Result()
	require.NoError(t, err)
	sum := 0
	for _, count := range counts {
		n, err := strconv.Atoi(count)
		require.NoError(t, err)
		sum += n
	}
	return sum
}

// eventually waits, for long because test machines are busy, until the condition holds.
func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 10*time.Second, 5*time.Millisecond, what)
}

// requireNothingLeft asserts that the Client comes to know nothing any more: background work may take a moment.
func requireNothingLeft(t testing.TB, c *rlock.Client) {
	t.Helper()
	eventually(t, func() bool { return c.Leftovers() == rlock.Leftovers{} }, "the client still knows something")
	assert.Zero(t, c.Leftovers())
}

var quietly = rlock.WithLogger(slog.New(slog.DiscardHandler))

// clientOf makes a Client with connections of its own and no log.
func clientOf(t testing.TB, srv *redistest.Server, opts ...rlock.Option) *rlock.Client {
	t.Helper()
	return newClient(t, srv.Client(t), append([]rlock.Option{quietly}, opts...)...)
}

// ended is a context that is over.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// elsewhere calls f on another goroutine, which is another owner, and brings its result back.
func elsewhere[T any](f func() (T, error)) (T, error) {
	var (
		got  T
		err  error
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		got, err = f()
	}()
	<-done
	return got, err
}

// crowd lets workers do n tasks and joins their errors. A worker is one owner, for task after task.
func crowd(workers, n int, task func(i int) error) error {
	var (
		next atomic.Int64
		all  sync.WaitGroup
		errs = make([]error, n)
	)
	for range workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = task(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// requireLoss checks the answer to a give-back after the hold was lost.
func requireLoss(t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	require.ErrorIs(t, err, rlock.ErrLost)
}

// assertLease checks a TTL that was set to lease at some time since then, and was asked for just now.
func assertLease(t testing.TB, lease time.Duration, since time.Time, ttl time.Duration) {
	t.Helper()
	assert.LessOrEqual(t, ttl, lease)
	assert.GreaterOrEqual(t, ttl, lease-time.Since(since)-time.Millisecond, "less than the time that has passed explains")
}

// shortly is someone whose context ends after d.
func shortly(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(someone(), d)
	t.Cleanup(cancel)
	return ctx
}
