package ownerid_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/ownerid"
)

func TestNewNeverRepeats(t *testing.T) {
	const goroutines, each = 32, 500
	made := make([][]ownerid.ID, goroutines)
	together(goroutines, func(i int) {
		for range each {
			made[i] = append(made[i], ownerid.New())
		}
	})

	seen := map[ownerid.ID]bool{}
	for _, ids := range made {
		for _, id := range ids {
			require.False(t, seen[id], "%s came twice", id)
			seen[id] = true
		}
	}
	assert.Len(t, seen, goroutines*each)
}

func TestNewLooksMade(t *testing.T) {
	id := ownerid.New()
	assert.Regexp(t, `^c[1-9][0-9]*$`, id.String())
	assert.False(t, id.IsZero())
	assert.False(t, id.IsGoroutine())
}

func TestGoroutineIsTheCaller(t *testing.T) {
	mine := ownerid.Goroutine()
	assert.Equal(t, mine, ownerid.Goroutine(), "the same goroutine twice")
	assert.Regexp(t, `^[1-9][0-9]*$`, mine.String())
	assert.True(t, mine.IsGoroutine())

	const goroutines = 50
	ids := make([]ownerid.ID, goroutines)
	together(goroutines, func(i int) { ids[i] = ownerid.Goroutine() })
	seen := map[ownerid.ID]bool{mine: true}
	for _, id := range ids {
		require.False(t, seen[id], "%s stands for two goroutines", id)
		seen[id] = true
	}
}

// A made owner and a goroutine's must not meet even when counter and goroutine number are the same.
func TestMadeAndGoroutineNeverMeet(t *testing.T) {
	const goroutines = 200
	var made, running sync.Map
	together(goroutines, func(int) {
		running.Store(ownerid.Goroutine(), true)
		for range 20 {
			made.Store(ownerid.New(), true)
		}
	})

	total := 0
	made.Range(func(id, _ any) bool {
		total++
		_, met := running.Load(id)
		assert.False(t, met, "%s is made and a goroutine", id)
		assert.False(t, id.(ownerid.ID).IsGoroutine(), "%s", id)
		return true
	})
	assert.Equal(t, goroutines*20, total)
	running.Range(func(id, _ any) bool {
		assert.True(t, id.(ownerid.ID).IsGoroutine(), "%s", id)
		return true
	})
}

func TestZeroIsNobody(t *testing.T) {
	var nobody ownerid.ID
	assert.True(t, nobody.IsZero())
	assert.False(t, nobody.IsGoroutine())
	assert.Empty(t, nobody.String())
	assert.NotEqual(t, nobody, ownerid.New())
	assert.NotEqual(t, nobody, ownerid.Goroutine())
}

// together runs f on n goroutines that start at the same moment and are all alive until the last has finished.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	start, end := make(chan struct{}), make(chan struct{})
	ready.Add(n)
	done.Add(n)
	var left sync.WaitGroup
	for i := range n {
		left.Go(func() {
			ready.Done()
			<-start
			f(i)
			done.Done()
			<-end
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	close(end)
	left.Wait()
}
