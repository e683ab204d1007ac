package rlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// BenchmarkPingPing is two round trips, the measure of all that follows.
func BenchmarkPingPing(b *testing.B) {
	rdb := redistest.Shared(b).Client(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_ = rdb.Ping(ctx)
		_ = rdb.Ping(ctx)
	}
}

func BenchmarkLockUnlock(b *testing.B) {
	l := benchClient(b).NewLock(b.Name())
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Lock(ctx); err != nil {
			b.Fatal(err)
		}
		if err := l.Unlock(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	l := benchClient(b).NewLock(b.Name())
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		h, err := l.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReentry(b *testing.B) {
	l := benchClient(b).NewLock(b.Name())
	ctx := b.Context()
	require.NoError(b, l.Lock(ctx))
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Lock(ctx); err != nil {
			b.Fatal(err)
		}
		if err := l.Unlock(ctx); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, l.Unlock(ctx))
}

func benchClient(b *testing.B) *rlock.Client {
	b.Helper()
	c, err := rlock.New(redistest.Shared(b).Client(b))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close(b.Context())) })
	return c
}
