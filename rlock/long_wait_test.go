package rlock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

func TestALongWaitForThisVeryProcessIsReportedOnce(t *testing.T) {
	t.Parallel()
	const watchdog = 600 * time.Millisecond
	var lines logbook
	c := newClient(t, redistest.Shared(t).Client(t), lines.option(), rlock.WithWatchdogTimeout(watchdog),
		rlock.WithFallbackLook(watchdog/4))
	lock, holder, waiter := c.NewLock(t.Name()), ownerid.New(), ownerid.New()
	ann, bob := ownerid.NewContext(t.Context(), holder), ownerid.NewContext(t.Context(), waiter)
	require.NoError(t, lock.Lock(ann))
	got, err := lock.TryLock(bob, rlock.Wait(watchdog/2))
	require.NoError(t, err)
	require.False(t, got)
	assert.Empty(t, lines.read(t), "a short wait is nobody's business")

	began := time.Now()
	got, err = lock.TryLock(bob, rlock.Wait(3*watchdog))
	require.NoError(t, err)
	require.False(t, got)
	waited := time.Since(began)
	require.Len(t, lines.read(t), 1)
	line := lines.read(t)[0]
	assert.Equal(t, "WARN", line["level"])
	assert.Contains(t, line["msg"], "a holder of this very process")
	assert.Equal(t, t.Name(), line["lock"])
	assert.Equal(t, waiter.String(), line["owner"])
	assert.Equal(t, holder.String(), line["holder"])
	assert.GreaterOrEqual(t, line["waited"], float64(watchdog))
	assert.LessOrEqual(t, line["waited"], float64(waited))
	require.NoError(t, lock.Unlock(ann))
}

func TestALongWaitForAnotherProcessSaysNothingOfThisOne(t *testing.T) {
	t.Parallel()
	const watchdog = 600 * time.Millisecond
	var lines logbook
	srv := redistest.Shared(t)
	c := newClient(t, srv.Client(t), lines.option(), rlock.WithWatchdogTimeout(watchdog))
	far, ann := newClient(t, srv.Client(t)).NewLock(t.Name()), someone()
	require.NoError(t, far.Lock(ann))
	got, err := c.NewLock(t.Name()).TryLock(ann, rlock.Wait(2*watchdog))
	require.NoError(t, err)
	require.False(t, got)
	require.Len(t, lines.read(t), 1)
	assert.Equal(t, "rlock: still waiting", lines.read(t)[0]["msg"])
	assert.NotContains(t, lines.read(t)[0], "holder")
	require.NoError(t, far.Unlock(ann))
}

// The time for the line passes while the waiter is not asleep but asks a Redis that hangs.
func TestALongWaitIsReportedAlsoIfRedisHangsMeanwhile(t *testing.T) {
	t.Parallel()
	const watchdog = time.Second
	var lines logbook
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	far, ann := newClient(t, srv.Client(t)).NewLock(t.Name()), someone()
	require.NoError(t, far.Lock(ann, rlock.Lease(time.Minute)))
	c := newClient(t, srv.Client(t), lines.option(), rlock.WithWatchdogTimeout(watchdog), rlock.WithFallbackLook(watchdog/2))
	done, asked := make(chan error, 1), scriptsRun(t, raw)
	go func() { done <- c.NewLock(t.Name()).Lock(someone()) }()
	eventually(t, func() bool { return scriptsRun(t, raw) == asked+2 }, "it has looked, subscribed and looked again")

	srv.Pause()
	time.Sleep(2 * watchdog)
	srv.Resume()
	assert.Eventually(t, func() bool { return len(lines.waits(t)) == 1 }, 5*time.Second, 10*time.Millisecond, "no line")
	require.NoError(t, far.Unlock(ann))
	require.NoError(t, <-done)
	assert.LessOrEqual(t, len(lines.waits(t)), 1)
}

// scriptsRun counts the calls of EVALSHA at the server.
func scriptsRun(t testing.TB, rdb *redis.Client) int {
	t.Helper()
	info, err := rdb.Info(context.Background(), "commandstats").Result()
	require.NoError(t, err)
	_, stats, found := strings.Cut(info, "cmdstat_evalsha:calls=")
	if !found {
		return 0
	}
	count, _, _ := strings.Cut(stats, ",")
	n, err := strconv.Atoi(count)
	require.NoError(t, err)
	return n
}

// logbook collects what a Client logs.
type logbook struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logbook) option() rlock.Option {
	return rlock.WithLogger(slog.New(slog.NewJSONHandler(b, nil)))
}

func (b *logbook) read(t testing.TB) []map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []map[string]any
	for text := range bytes.Lines(b.text.Bytes()) {
		var line map[string]any
		require.NoError(t, json.Unmarshal(text, &line))
		lines = append(lines, line)
	}
	return lines
}

// waits are the lines about a wait.
func (b *logbook) waits(t testing.TB) (lines []map[string]any) {
	t.Helper()
	for _, line := range b.read(t) {
		if _, ok := line["waited"]; ok {
			lines = append(lines, line)
		}
	}
	return lines
}
