package rlock_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// single are the ways to take and give back a lock, by one caller. allocations is how many one round may cost, six of them in
// the connection pool of go-redis.
var single = []struct {
	name        string
	allocations float64
	round       func(ctx context.Context, l *rlock.Lock) error
}{
	{"LockUnlock", 24, lockUnlock},
	{"AcquireRelease", 24, func(ctx context.Context, l *rlock.Lock) error {
		h, err := l.Acquire(ctx)
		if err != nil {
			return err
		}
		return h.Release(ctx)
	}},
	{"Do", 30, func(ctx context.Context, l *rlock.Lock) error {
		return l.Do(ctx, func(context.Context) error { return nil })
	}},
	{"TryLockUnlock", 24, func(ctx context.Context, l *rlock.Lock) error {
		if _, err := l.TryLock(ctx); err != nil {
			return err
		}
		return l.Unlock(ctx)
	}},
	{"NestedLockUnlock", 42, func(ctx context.Context, l *rlock.Lock) error {
		if err := l.Lock(ctx); err != nil {
			return err
		}
		if err := lockUnlock(ctx, l); err != nil {
			return err
		}
		return l.Unlock(ctx)
	}},
}

func lockUnlock(ctx context.Context, l *rlock.Lock) error {
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return l.Unlock(ctx)
}

// What a free lock costs its caller in allocations. Not parallel: it counts those of the whole process. make cover runs it without
// the race detector, in CI too.
func TestCostInAllocations(t *testing.T) {
	if underRaceDetector() {
		t.Skip("the race detector allocates too")
	}
	srv := redistest.Start(t)
	for _, s := range single {
		t.Run(s.name, func(t *testing.T) {
			l, ctx := clientOf(t, srv).NewLock(t.Name()), someone()
			require.NoError(t, s.round(ctx, l))
			allocations := testing.AllocsPerRun(500, func() { assert.NoError(t, s.round(ctx, l)) })
			t.Logf("%v allocations", allocations)
			assert.LessOrEqual(t, allocations, s.allocations)
		})
	}
}

// What the others are measured against: two round trips.
func BenchmarkTwoPings(b *testing.B) {
	rdb, ctx := redistest.Start(b).Client(b), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		rdb.Ping(ctx)
		rdb.Ping(ctx)
	}
}

// One caller, a lock that is free.
func BenchmarkFree(b *testing.B) {
	for _, s := range single {
		b.Run(s.name, func(b *testing.B) {
			l, ctx := clientOf(b, redistest.Start(b)).NewLock(b.Name()), someone()
			b.ReportAllocs()
			for b.Loop() {
				_ = s.round(ctx, l)
			}
		})
	}
}

// Many callers, each with a lock of its own: their commands share pipelines.
func BenchmarkDistinct(b *testing.B) {
	for _, callers := range []int{1, 4, 16, 64, 512} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			c := clientOf(b, redistest.Start(b))
			atOnce(b, callers, func(i int) *rlock.Lock { return c.NewLock(nameOf(b, i)) })
		})
	}
}

// Many callers and one lock, which goes from hand to hand.
func BenchmarkHot(b *testing.B) {
	for _, callers := range []int{2, 16, 128} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			srv := redistest.Start(b)
			l, raw := clientOf(b, srv).NewLock(b.Name()), srv.Raw(b)
			turns := atOnce(b, callers, func(int) *rlock.Lock { return l })
			b.ReportMetric(float64(scriptsRun(b, raw))/float64(b.N), "commands/op")
			b.ReportMetric(float64(slices.Min(turns))/float64(max(slices.Max(turns), 1)), "least/most")
		})
	}
}

// atOnce shares b.N rounds among callers, and says how many each did.
func atOnce(b *testing.B, callers int, lockOf func(i int) *rlock.Lock) []int {
	b.Helper()
	b.ReportAllocs()
	turns := make([]int, callers)
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range callers {
		l, ctx := lockOf(i), someone()
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := lockUnlock(ctx, l); err != nil {
					b.Error(err)
				}
				turns[i]++
			}
		})
	}
	all.Wait()
	return turns
}
