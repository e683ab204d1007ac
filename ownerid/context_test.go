package ownerid_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/ownerid"
)

func TestContextCarriesTheOwner(t *testing.T) {
	_, carried := ownerid.FromContext(t.Context())
	assert.False(t, carried, "a context of its own carries nobody")

	outer, inner := ownerid.New(), ownerid.New()
	ctx := ownerid.NewContext(t.Context(), outer)
	assertCarries(t, ctx, outer)

	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	assertCarries(t, derived, outer)

	assertCarries(t, ownerid.NewContext(derived, inner), inner)
	assertCarries(t, derived, outer)
}

func TestContextHandedToAGoroutineIsTheSameOwner(t *testing.T) {
	ctx := ownerid.NewContext(t.Context(), ownerid.New())
	here, _ := ownerid.FromContext(ctx)
	there := make(chan ownerid.ID)
	go func() {
		id, _ := ownerid.FromContext(ctx)
		there <- id
	}()
	assert.Equal(t, here, <-there)
}

func TestWithoutHidesTheOwnerAndNothingElse(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "kept"))
	ctx = ownerid.NewContext(ctx, ownerid.New())

	bare := ownerid.Without(ctx)
	id, carried := ownerid.FromContext(bare)
	assert.False(t, carried)
	assert.True(t, id.IsZero())
	assert.Equal(t, "kept", bare.Value(key{}))

	again := ownerid.New()
	assertCarries(t, ownerid.NewContext(bare, again), again)

	cancel(assert.AnError)
	assert.ErrorIs(t, context.Cause(bare), assert.AnError)
}

func TestWithoutOfNobodyIsTheSameContext(t *testing.T) {
	ctx := t.Context()
	assert.Equal(t, ctx, ownerid.Without(ctx))

	bare := ownerid.Without(ownerid.NewContext(ctx, ownerid.New()))
	assert.Equal(t, bare, ownerid.Without(bare), "hidden once is hidden")
}

func TestNewContextPanicsOnNobody(t *testing.T) {
	assert.PanicsWithValue(t, "ownerid: NewContext with the zero ID", func() {
		ownerid.NewContext(t.Context(), ownerid.ID{})
	})
}

func assertCarries(t *testing.T, ctx context.Context, want ownerid.ID) {
	t.Helper()
	id, carried := ownerid.FromContext(ctx)
	assert.True(t, carried)
	assert.Equal(t, want, id)
}
