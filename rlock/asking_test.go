package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// State, Extend and ForceUnlock may be asked again at will: an outage shorter than the retry budget costs time alone.
func TestQuestionsOutlastAnOutage(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	c := clientOf(t, srv)
	lock, ann := c.NewLock(t.Name()), someone()
	hold, err := lock.Acquire(ann, rlock.Lease(time.Minute))
	require.NoError(t, err)
	short := newClient(t, srv.Client(t, func(o *redis.Options) { o.ReadTimeout = 50 * time.Millisecond }))

	srv.Pause()
	answers := make(chan error, 2)
	go func() {
		state, err := short.NewLock(t.Name()).State(ann)
		assert.True(t, state.Locked)
		answers <- err
	}()
	go func() { answers <- hold.Extend(ann, time.Hour) }()
	impatient, cancel := context.WithTimeout(ann, 700*time.Millisecond) // most likely in a pause between two attempts
	defer cancel()
	_, err = short.NewLock(t.Name()).State(impatient)
	assert.ErrorIs(t, err, context.DeadlineExceeded, "what ended the asking stays visible")
	require.NotErrorIs(t, err, rlock.ErrNotAcquired)
	require.Empty(t, answers)
	srv.Resume()
	require.NoError(t, <-answers)
	require.NoError(t, <-answers)
	assert.Greater(t, time.Until(hold.ValidUntil()), 50*time.Minute)

	removed, err := short.NewLock(t.Name()).ForceUnlock(ann)
	require.NoError(t, err)
	assert.True(t, removed)
	requireLoss(t, hold.Release(ann))
}

func TestQuestionsEndWithTheRetryBudget(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	rdb := srv.Client(t, func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond })
	lock := newClient(t, rdb, rlock.WithRetryBudget(300*time.Millisecond)).NewLock(t.Name())
	srv.Pause()
	defer srv.Resume()
	began := time.Now()
	_, err := lock.State(someone())
	requireComplaint(t, err, "state", t.Name(), "imeout")
	_, err = lock.ForceUnlock(someone())
	require.Error(t, err)
	assert.Less(t, time.Since(began), 5*time.Second)
}
