package rlocktest_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// script plays a test whose verdict is looked at: what it is told is noted instead of failing anybody.
type script struct {
	testing.TB // nil: a method that is not among those below panics

	mu       sync.Mutex
	cleanups []func()
	errors   []string
	logs     []string
}

func newScript() *script { return &script{} }

// play runs body as the goroutine of a test, then the cleanups.
func play(body func(t *script)) *script {
	t := newScript()
	t.run(func() { body(t) })
	t.finish()
	return t
}

func (t *script) finish() {
	for _, f := range slices.Backward(t.cleanups) {
		t.run(f)
	}
}

// run lets Fatalf end f alone.
func (t *script) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (t *script) Helper()                  {}
func (t *script) Cleanup(f func())         { t.cleanups = append(t.cleanups, f) }
func (t *script) Output() io.Writer        { return io.Discard }
func (t *script) Context() context.Context { return context.Background() }

func (t *script) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.errors) > 0
}

func (t *script) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.logs = append(t.logs, fmt.Sprintf(format, args...))
}

func (t *script) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func (t *script) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

// soon is a bound for what takes no time on a machine with nothing else to do.
const soon = 10 * time.Second

// within gives fn a context that ends soon and fails the test if fn does not return by itself.
func within(t *testing.T, fn func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	fn(ctx)
	assert.NoError(t, ctx.Err(), "it took too long")
}

func someone(ctx context.Context) context.Context { return ownerid.NewContext(ctx, ownerid.New()) }

func acquire(t *testing.T, c *rlock.Client, name string, opts ...rlock.AcquireOption) *rlock.Hold {
	t.Helper()
	h, err := c.NewLock(name).Acquire(someone(t.Context()), opts...)
	require.NoError(t, err)
	return h
}

// awaitEnd waits until the hold's context ends, and returns why.
func awaitEnd(t *testing.T, h *rlock.Hold) error {
	t.Helper()
	select {
	case <-h.Context().Done():
		return context.Cause(h.Context())
	case <-time.After(soon):
		require.Fail(t, "the hold's context does not end")
		return nil
	}
}
