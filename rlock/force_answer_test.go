package rlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// A holder of the same Client that heeds its context gives its lost hold back at once, and may do so before the forced
// unlock reaches Redis. There was something to take away all the same.
func TestForceUnlockOfAHolderThatGivesBackAtOnceIsTrue(t *testing.T) {
	t.Parallel()
	c, err := rlock.New(redistest.Shared(t).Client(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.WithoutCancel(t.Context()))) }()
	lock := c.NewLock(t.Name())

	for range 100 {
		held, gone := make(chan struct{}), make(chan error, 1)
		go func() {
			gone <- lock.Do(ownerid.NewContext(t.Context(), ownerid.New()), func(ctx context.Context) error {
				close(held)
				<-ctx.Done()
				return nil
			})
		}()
		<-held
		removed, err := lock.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, removed)
		require.ErrorIs(t, <-gone, rlock.ErrLost)
	}
}
