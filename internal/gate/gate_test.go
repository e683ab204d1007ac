package gate_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/gate"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestFirstHasTheTurnAtOnce(t *testing.T) {
	g := gate.New()
	assert.False(t, g.Waiting("a"))

	first := g.Join("a")
	assert.True(t, hasTurn(first))
	assert.True(t, g.Waiting("a"))
	assert.False(t, g.Waiting("b"), "names do not meet")
}

func TestTurnsGoInOrderOfArrival(t *testing.T) {
	g := gate.New()
	line := joinAll(g, "a", 50)
	for i, ticket := range line {
		require.True(t, hasTurn(ticket), "ticket %d is next", i)
		for j, later := range line[i+1:] {
			require.False(t, hasTurn(later), "ticket %d has to wait", i+1+j)
		}
		ticket.Leave()
	}
	assert.Zero(t, g.Len())
}

func TestNamesHaveLinesOfTheirOwn(t *testing.T) {
	g := gate.New()
	a, b := joinAll(g, "a", 2), joinAll(g, "b", 2)
	assert.True(t, hasTurn(a[0]))
	assert.True(t, hasTurn(b[0]))
	assert.Equal(t, 2, g.Len())

	a[0].Leave()
	assert.True(t, hasTurn(a[1]))
	assert.False(t, hasTurn(b[1]))
}

func TestLeavingFromTheMiddle(t *testing.T) {
	g := gate.New()
	line := joinAll(g, "a", 5)
	line[2].Leave()
	line[1].Leave()
	line[4].Leave()
	assert.False(t, hasTurn(line[3]), "the head is still there")

	line[0].Leave()
	assert.True(t, hasTurn(line[3]))
	assert.False(t, hasTurn(line[1]), "who left is not called")

	last := g.Join("a")
	line[3].Leave()
	assert.True(t, hasTurn(last), "the end of the line moved with those who left")
}

func TestUnnoticedTurnIsPassedOn(t *testing.T) {
	g := gate.New()
	line := joinAll(g, "a", 3)
	line[0].Leave()
	line[1].Leave() // it is the head and has not looked
	assert.True(t, hasTurn(line[2]))
}

func TestLeavingTwiceIsLeavingOnce(t *testing.T) {
	g := gate.New()
	line := joinAll(g, "a", 3)
	line[0].Leave()
	line[0].Leave()
	assert.True(t, hasTurn(line[1]))
	assert.False(t, hasTurn(line[2]), "the second Leave passed nothing on")

	line[1].Leave()
	line[2].Leave()
	again := g.Join("a")
	line[2].Leave()
	assert.True(t, g.Waiting("a"), "a late second Leave does not touch who came after")
	assert.True(t, hasTurn(again))
}

func TestNameGoesWithItsLastWaiter(t *testing.T) {
	g := gate.New()
	for i := range 1000 {
		for _, ticket := range joinAll(g, fmt.Sprint("name-", i), 3) {
			ticket.Leave()
		}
	}
	assert.Zero(t, g.Len())
	assert.False(t, g.Waiting("name-7"))
}

// The head leaves and the second gives up at the same moment, so that the turn
// reaches a ticket that is going: the third must be called in every order.
func TestTurnSurvivesALeaveThatRacesIt(t *testing.T) {
	g := gate.New()
	for range 5000 {
		line := joinAll(g, "a", 3)
		var both sync.WaitGroup
		both.Go(line[0].Leave)
		both.Go(line[1].Leave)
		both.Wait()
		require.True(t, hasTurn(line[2]))
		line[2].Leave()
		require.Zero(t, g.Len())
	}
}

// A lost turn would leave goroutines asleep for good, which synctest reports as
// a deadlock.
func TestSleepersAreWokenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New()
		var order []int // only ever touched by the one whose turn it is
		for i, ticket := range joinAll(g, "a", 100) {
			go func() {
				defer ticket.Leave()
				<-ticket.Turn()
				order = append(order, i)
			}()
		}
		synctest.Wait()
		require.Len(t, order, 100)
		assert.IsIncreasing(t, order)
		assert.Zero(t, g.Len())
	})
}

// Half of the sleepers give up, each after a time of its own, whether or not its turn is due at that very moment. The others
// take a second each. Not one second is lost between them, and nobody sleeps for good.
func TestSleepersThatGiveUpLoseNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sleepers = 100
		g := gate.New()
		began, turns := time.Now(), 0
		var last time.Time // as turns is, only ever touched by the one whose turn it is
		for i, ticket := range joinAll(g, "a", sleepers) {
			go func() {
				defer ticket.Leave()
				patience := time.Hour
				if i%2 == 1 {
					patience = time.Duration(i/2) * time.Second // just when the one before it leaves, if all goes well
				}
				select {
				case <-ticket.Turn():
				case <-time.After(patience):
					return
				}
				time.Sleep(time.Second)
				turns++
				last = time.Now()
			}()
		}
		time.Sleep(2 * sleepers * time.Second)
		synctest.Wait()
		assert.GreaterOrEqual(t, turns, sleepers/2)
		assert.Equal(t, time.Duration(turns)*time.Second, last.Sub(began))
		assert.Zero(t, g.Len())
	})
}

// 10^5 waiters in 64 goroutines over a few names; half give up without looking.
// The plain counters would be a race, and short, if two ever had the turn.
func TestManyJoinsAndLeaves(t *testing.T) {
	const goroutines, rounds, names = 64, 1600, 4
	g := gate.New()
	var inside, want [names]int
	var mu sync.Mutex // guards want alone: inside is protected by the gate
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range rounds {
				n := rand.IntN(names)
				ticket := g.Join(fmt.Sprint(n))
				if rand.IntN(2) == 0 {
					ticket.Leave()
					continue
				}
				<-ticket.Turn()
				inside[n]++
				ticket.Leave()
				mu.Lock()
				want[n]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	assert.Equal(t, want, inside)
	assert.Zero(t, g.Len())
}

func BenchmarkJoinLeave(b *testing.B) {
	g := gate.New()
	b.ReportAllocs()
	for b.Loop() {
		g.Join("a").Leave()
	}
}

func joinAll(g *gate.Gate, name string, n int) []*gate.Ticket {
	line := make([]*gate.Ticket, n)
	for i := range line {
		line[i] = g.Join(name)
	}
	return line
}

func hasTurn(t *gate.Ticket) bool {
	select {
	case <-t.Turn():
		return true
	default:
		return false
	}
}
