package rlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// ownContext is a context of a caller's own kind, whose methods run code of the caller's.
type ownContext struct {
	context.Context // this type is a context
	run             func()
}

func (c *ownContext) Done() <-chan struct{} {
	c.run()
	return c.Context.Done()
}

// Attacks promise P5: to end a hold asks the caller's context, which waits for a mutex of the caller's. No other hold waits for
// that: it goes on being renewed.
func TestP5_ASlowContextDelaysNoOtherHold(t *testing.T) {
	t.Parallel()
	const timeout, lease = 900 * time.Millisecond, 500 * time.Millisecond
	c := clientOf(t, redistest.Shared(t), rlock.WithWatchdogTimeout(timeout))
	other, err := c.NewLock(t.Name() + ":other").Acquire(someone())
	require.NoError(t, err)

	var mu sync.Mutex
	base, cancel := context.WithCancel(someone()) // so that there is an end for which a context has to be asked
	defer cancel()
	h, err := c.NewLock(t.Name()).Acquire(&ownContext{base, func() { mu.Lock(); defer mu.Unlock() }}, rlock.Lease(lease))
	require.NoError(t, err)
	held, end := h.Context(), h.ValidUntil()
	mu.Lock()
	assert.Eventually(t, func() bool { return other.ValidUntil().After(end.Add(timeout)) }, 10*time.Second, 5*time.Millisecond,
		"a renewal since the end of the slow one")
	assert.True(t, other.Held())
	mu.Unlock()
	requireEnd(t, held)
}

// Attacks promise P4: the caller's context looks at the hold that hangs on it, which has the answer at once, and no deadlock.
func TestP4_AContextMayLookAtItsHold(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	l, owner := c.NewLock(t.Name()), someone()
	base, cancel := context.WithCancel(owner)
	defer cancel()
	looks := 0
	h, err := l.Acquire(&ownContext{base, func() {
		if held, ok := l.Held(owner); ok && held.Held() {
			looks++
		}
	}})
	require.NoError(t, err)
	made := outcome(func() error { return h.Context().Err() })
	require.NoError(t, promptly(t, made))
	assert.Positive(t, looks)
	assert.NoError(t, h.Release(owner))
}
