package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/model"
)

// A search that gave up before the end says so, and not that all is well.
func TestSearch_SaysThatItWasCutOff(t *testing.T) {
	t.Parallel()
	c := plain
	c.MaxStates = 1000
	r := model.Search(c, model.AllRules)
	assert.False(t, r.Complete)
	assert.Zero(t, r.Broken)
	assert.GreaterOrEqual(t, r.States, 1000)
	assert.Positive(t, r.Depth)
}

// What is dropped for having no effect any more, and attempts that get new numbers, must not hide a way to break something, nor
// make one: without those reductions each story is as long, and with all rules nothing breaks either.
func TestSearch_ReductionsHideNothing(t *testing.T) {
	t.Parallel()
	if bound() < middle {
		t.Skip("too slow under the race detector")
	}
	for _, s := range stories {
		if s.steps > 8 || s.rule == model.FieldPerAttempt { // that one is searched without reductions anyway
			continue
		}
		c := s.config
		c.Watch, c.MaxStates = model.Only(s.broken), 200_000
		r := model.SearchRaw(c, model.AllRules.Without(s.rule))
		require.Equal(t, s.broken.String(), r.Broken.String(), s.file)
		assert.Equal(t, s.steps, r.Steps, s.file)
	}
	for _, c := range []model.Config{
		{Name: "cancelled", Threads: []model.Thread{annOnce, bobOnce}, Lease: 2, Margin: 1, Cancels: 1, Joe: joeOnce},
		{Name: "in doubt", Threads: []model.Thread{annOnce, bobOnce}, Lease: 2, Margin: 1, Timeouts: 1},
		{Name: "handed over", Threads: []model.Thread{annOnce, bobOnce}, Lease: 2, Margin: 1, Cancels: 1, HandOver: true},
	} {
		raw, reduced := model.SearchRaw(c, model.AllRules), model.Search(c, model.AllRules)
		assert.Zero(t, raw.Broken, raw.Story)
		assert.True(t, raw.Complete)
		assert.Greater(t, raw.States, reduced.States)
		t.Logf("%s: %d states, reduced to %d", c.Name, raw.States, reduced.States)
	}
}

// A state is hashed as it lies in memory, which is fast only without gaps.
func TestSearch_AStateHasNoGaps(t *testing.T) {
	t.Parallel()
	whole, parts := model.StateBytes()
	assert.Equal(t, parts, whole)
}
