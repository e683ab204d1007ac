package rlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// listContext is a context that cannot be compared.
type listContext struct {
	context.Context
	list []int
}

// Code that asks for its hold again and again gets the same context, and one of any kind will do for a parent.
func TestHeldGivesOneContextPerParent(t *testing.T) {
	t.Parallel()
	l := clientOf(t, redistest.Shared(t)).NewLock(t.Name())
	ctx := someone()
	require.NoError(t, l.Lock(ctx))
	view := func(ctx context.Context) context.Context {
		h, held := l.Held(ctx)
		require.True(t, held)
		return h.Context()
	}
	first := view(ctx)
	assert.Same(t, first, view(ctx))
	odd := view(listContext{Context: ctx, list: []int{1}})
	view(listContext{Context: ctx, list: []int{2}})
	other, cancel := context.WithCancel(ctx)
	assert.NotSame(t, first, view(other))
	cancel()
	assert.Error(t, view(other).Err())
	require.NoError(t, l.Unlock(ctx))
	for _, ended := range []context.Context{first, odd} {
		<-ended.Done()
		assert.ErrorIs(t, context.Cause(ended), rlock.ErrReleased)
	}
}
