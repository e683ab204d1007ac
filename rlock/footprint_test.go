package rlock_test

import (
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// footprint is what the process uses.
type footprint struct {
	heap       uint64
	goroutines int
}

// smallBuffers keeps the connections out of what is measured: how many there are at a moment is chance, and each brings 64 KiB of
// buffers by default.
func smallBuffers(o *redis.Options) { o.ReadBufferSize, o.WriteBufferSize = 1<<10, 1<<10 }

// measure collects twice, because the first collection only moves what pools hold aside.
func measure() footprint {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return footprint{heap: stats.HeapAlloc, goroutines: runtime.NumGoroutine()}
}

// requireNotGrown waits until no goroutine is left, and looks at the heap then, which may be off by some noise. It starts
// none itself.
func requireNotGrown(t *testing.T, before footprint, noise uint64) {
	t.Helper()
	for began := time.Now(); runtime.NumGoroutine() > before.goroutines; time.Sleep(5 * time.Millisecond) {
		require.Less(t, time.Since(began), 10*time.Second, "%d goroutines, were %d", runtime.NumGoroutine(), before.goroutines)
	}
	now := measure()
	t.Logf("heap %d KiB, was %d KiB; %d goroutines, were %d", now.heap>>10, before.heap>>10, now.goroutines, before.goroutines)
	require.LessOrEqual(t, now.heap, before.heap+noise)
}

// underRaceDetector asks the build, for want of a constant.
func underRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
