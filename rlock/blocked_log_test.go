package rlock_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// The log goes into a pipe that nobody reads. Redis is cut off, and many holds are lost at the same time, each worth a line:
// all their holders are told before the lock can be anybody else's, as if there were no log.
func TestABlockedLoggerDelaysNoNewsOfALoss(t *testing.T) {
	t.Parallel()
	const timeout = 900 * time.Millisecond
	late := watchStalls(t)
	logger, unblock := blockedLogger()
	r := newRig(t, rlock.WithWatchdogTimeout(timeout), logger)
	t.Cleanup(unblock)
	told := make([]time.Duration, 20) // after the end of the hold
	var all sync.WaitGroup
	for i := range told {
		h, err := r.client.NewLock(r.key + strconv.Itoa(i)).Acquire(someone())
		require.NoError(t, err)
		ctx := h.Context()
		all.Go(func() {
			if hasEnded(t, ctx) {
				told[i] = time.Since(h.ValidUntil())
			}
		})
	}
	r.proxy.BlackHole(true)
	all.Wait()
	for _, after := range told {
		assert.Less(t, after, rlock.Margin(timeout)+4*late.late())
	}
}

// The wait of a waiter is long enough to be worth a line, which the log does not take. The waiter gets its turn all the same.
func TestABlockedLoggerKeepsNoWaiterFromItsTurn(t *testing.T) {
	t.Parallel()
	logger, unblock := blockedLogger()
	r := newRig(t, rlock.WithWatchdogTimeout(200*time.Millisecond), logger)
	t.Cleanup(unblock)
	holder, waiter := someone(), someone()
	require.NoError(t, r.rival.Lock(holder))
	in := outcome(func() error { return r.lock.Lock(waiter) })
	passed(400 * time.Millisecond) // the line is due
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, inTime(t, 5*time.Second, in, "the lock is free"))
	require.NoError(t, r.lock.Unlock(waiter))
}

// P7, P10: the hub's line about a lost connection is not taken. It finds another connection all the same, and Close ends.
func TestABlockedLoggerDoesNotDeafenTheHub(t *testing.T) {
	t.Parallel()
	logger, unblock := blockedLogger()
	r := newRig(t, logger)
	t.Cleanup(unblock)
	holder, waiter := someone(), someone()
	require.NoError(t, r.rival.Lock(holder))
	in := outcome(func() error { return r.lock.Lock(waiter) })
	channel := rlock.ChannelOf(r.key)
	heard := func() bool { return r.raw.PubSubNumSub(t.Context(), channel).Val()[channel] == 1 }
	r.eventually(heard, "subscribed")
	require.NoError(t, r.raw.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	r.eventually(heard, "subscribed anew")
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, inTime(t, 5*time.Second, in, "the lock is free"))
	require.NoError(t, r.lock.Unlock(waiter))
	require.NoError(t, inTime(t, 10*time.Second, outcome(func() error { return r.client.Close(t.Context()) }), "Close"))
}

// blockedLogger takes no line before it is unblocked.
func blockedLogger() (logger rlock.Option, unblock func()) {
	h := blockedHandler{Handler: slog.DiscardHandler, read: make(chan struct{})}
	return rlock.WithLogger(slog.New(h)), func() { close(h.read) }
}

type blockedHandler struct {
	slog.Handler
	read chan struct{}
}

func (blockedHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h blockedHandler) Handle(context.Context, slog.Record) error {
	<-h.read
	return nil
}
