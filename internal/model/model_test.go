package model_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/model"
)

// size is how much of a search there is time for.
type size int

const (
	small  size = iota // under the race detector too
	middle             // without it
	large              // when RLOCK_MODEL=large asks for it: make model
)

// searches are the worlds in which the protocol must hold, smaller ones first, with the number of their states: one that
// differs is no fault by itself, but says that the model has changed.
var searches = []struct {
	config model.Config
	size   size
	states int
}{
	{alone, small, 2087},
	{nestsAlone, middle, 83589},
	{shorter, small, 906},
	{drift, small, 10686},
	{sleeper, small, 8103},
	{handOverCancelled, small, 6516},
	{handOverDeleted, small, 11509},
	{nestingCancelled, small, 15864},
	{renewed, small, 17539},
	{deleted, small, 53036},
	{goroutines, small, 19088},
	{refused, middle, 70542},
	{handOverInDoubt, small, 25291},
	{handOverAlone, middle, 118664},
	{forced, middle, 148622},
	{repeats, middle, 181875},
	{nesting, middle, 236333},
	{levels, middle, 120469},
	{handOver, middle, 291726},
	{handOverForced, middle, 350688},
	{plain, middle, 504808},
}

func TestModel_WithAllRulesNothingBreaks(t *testing.T) {
	t.Parallel()
	for _, s := range searches {
		t.Run(s.config.Name, func(t *testing.T) {
			t.Parallel()
			if s.size > bound() {
				t.Skip("a larger bound searches this one too: RLOCK_MODEL=large, without the race detector")
			}
			began := time.Now()
			r := model.Search(s.config, model.AllRules)
			t.Logf("%d states, %d steps deep, %.1f s", r.States, r.Depth, time.Since(began).Seconds())
			require.Zero(t, r.Broken, "%v: %s", r.Broken, r.Story)
			assert.True(t, r.Complete, "searched to the end")
			assert.Equal(t, s.states, r.States, "the model has changed: is that meant?")
		})
	}
}

// bound is the size of the largest searches that are made.
func bound() size {
	switch {
	case raced:
		return small
	case os.Getenv("RLOCK_MODEL") == "large":
		return large
	default:
		return middle
	}
}
