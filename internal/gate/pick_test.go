package gate_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/gate"
)

// Who is not asleep looks for itself.
func TestOnlyAParkedHeadIsPicked(t *testing.T) {
	g := gate.New()
	assert.Nil(t, g.Pick("a", anybody), "nobody is in line")
	head := g.Join("a")
	assert.Nil(t, g.Pick("a", anybody), "it is awake")

	head.Park("sleeper")
	assert.Nil(t, g.Pick("b", anybody), "names do not meet")
	assert.Equal(t, "sleeper", g.Pick("a", anybody))
	assert.Nil(t, g.Pick("a", anybody), "once is all")
	assert.True(t, head.Unpark())
	assert.True(t, g.Waiting("a"), "it keeps its place")

	head.Park("sleeper once more")
	assert.False(t, head.Unpark(), "nobody came")
	assert.Nil(t, g.Pick("a", anybody), "it is up")
	head.Park("sleeper again")
	assert.Equal(t, "sleeper again", g.Pick("a", anybody))
	assert.True(t, head.Unpark())
}

// Who is parked behind others is picked when all of them have left, and not before, asleep as they may be.
func TestParkedInTheMiddleIsPickedAsTheHead(t *testing.T) {
	g := gate.New()
	line := joinAll(g, "a", 3)
	line[1].Park(1)
	line[2].Park(2)
	assert.Nil(t, g.Pick("a", anybody), "the head is awake")

	line[0].Park(0)
	assert.Equal(t, 0, g.Pick("a", anybody))
	assert.Nil(t, g.Pick("a", anybody), "the head was picked, but stands there still")

	line[0].Leave()
	assert.True(t, line[0].Unpark(), "also when it has left")
	assert.Equal(t, 1, g.Pick("a", anybody))
	assert.Nil(t, g.Pick("a", anybody))
	line[1].Leave()
	assert.False(t, line[2].Unpark())
	assert.Nil(t, g.Pick("a", anybody))
}

func TestWhoIsNotFitStaysParked(t *testing.T) {
	g := gate.New()
	line := joinAll(g, "a", 2)
	line[0].Park("unfit")
	line[1].Park("fit")
	var asked []any
	only := func(fit any) func(any) bool {
		return func(waiter any) bool {
			asked = append(asked, waiter)
			return waiter == fit
		}
	}
	assert.Nil(t, g.Pick("a", only("fit")), "nobody is picked past the head")
	assert.Equal(t, []any{"unfit"}, asked, "and nobody but the head is looked at")
	assert.Equal(t, "unfit", g.Pick("a", only("unfit")))
	assert.True(t, line[0].Unpark())
}

// The turn goes on when a ticket leaves, parked or picked.
func TestLeavingPassesTheTurnOnWhateverSleeps(t *testing.T) {
	g := gate.New()
	line := joinAll(g, "a", 4)
	line[0].Park(0)
	require.Equal(t, 0, g.Pick("a", anybody))
	line[0].Leave()
	assert.True(t, hasTurn(line[1]))

	line[1].Park(1)
	line[2].Park(2)
	line[2].Leave()
	line[1].Leave()
	assert.True(t, hasTurn(line[3]))
	assert.Nil(t, g.Pick("a", anybody), "who left is not picked")
	assert.False(t, line[1].Unpark())
	assert.False(t, line[2].Unpark())
	line[3].Leave()
	assert.Zero(t, g.Len())
}

// Many who want to pick, and a sleeper that gets up: either one of them has it, and the sleeper knows, or nobody.
func TestPickRacesWithGettingUp(t *testing.T) {
	const pickers, rounds = 4, 2000
	g := gate.New()
	outcomes := map[bool]int{}
	for round := range rounds {
		line := joinAll(g, "a", 2)
		line[0].Park(round)
		var picks atomic.Int64
		var all sync.WaitGroup
		for range pickers {
			all.Go(func() {
				if waiter := g.Pick("a", anybody); waiter != nil {
					assert.Equal(t, round, waiter)
					picks.Add(1)
				}
			})
		}
		if round%2 == 0 {
			runtime.Gosched() // else it is up before anybody has begun
		}
		if round%4 < 2 {
			line[0].Leave()
		}
		picked := line[0].Unpark()
		all.Wait()
		require.Equal(t, picked, picks.Load() == 1)
		require.LessOrEqual(t, picks.Load(), int64(1))
		outcomes[picked]++
		line[0].Leave()
		require.True(t, hasTurn(line[1]))
		line[1].Leave()
	}
	t.Log(outcomes)
	assert.Len(t, outcomes, 2, "both were seen")
	assert.Zero(t, g.Len())
}

// A line where everybody sleeps, and is served by whoever comes along or gets up when its turn has come. Nobody is served twice,
// and what was picked is told.
func TestManySleepersAndPickers(t *testing.T) {
	const sleepers, rounds = 32, 200
	g := gate.New()
	var inside, served int // only ever touched by the one whose turn it is
	var picks atomic.Int64
	var all, pickers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		pickers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if g.Pick("a", anybody) != nil {
					picks.Add(1)
				}
				runtime.Gosched()
			}
		})
	}
	for i := range sleepers {
		all.Go(func() {
			for range rounds {
				ticket := g.Join("a")
				ticket.Park(i)
				<-ticket.Turn()
				inside++
				if ticket.Unpark() {
					served++
				}
				ticket.Leave()
			}
		})
	}
	all.Wait()
	close(done)
	pickers.Wait()
	assert.Equal(t, sleepers*rounds, inside)
	assert.EqualValues(t, picks.Load(), served)
	assert.Zero(t, g.Len())
}

// The turn is a word that stays: who looks late, or looks again, finds it.
func TestTurnStays(t *testing.T) {
	g := gate.New()
	line := joinAll(g, "a", 2)
	line[0].Leave()
	assert.True(t, hasTurn(line[0]))
	assert.True(t, hasTurn(line[1]))
	assert.True(t, hasTurn(line[1]))
	line[1].Leave()
	assert.True(t, hasTurn(line[1]), "it means nothing any more")
}

func anybody(any) bool { return true }
