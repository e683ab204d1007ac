package wire_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/wire"
)

// enough is more flights at a time than any test has that is not about their number.
const enough = 100

func TestCoalescer_ALoneAttemptTakesOffAtOnceAndAlone(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		began := time.Now()
		for n := range 3 {
			s.send(n)
			synctest.Wait()
			assert.Equal(t, []int{n}, s.latest())
			s.land(n)
			synctest.Wait()
		}
		assert.Zero(t, time.Since(began), "no timer is in its way")
		assert.Equal(t, 1, s.Idle(), "one flight carried all of them")
	})
}

// What comes while the lanes are taken shares the next flight, which takes off when one lands.
func TestCoalescer_WhoFindsNoLaneSharesTheNextFlight(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		began := time.Now()
		s.send(0, 1, 2, 3, 4)
		synctest.Wait()
		require.Equal(t, wire.Lanes, s.count(), "a lane each, and no more")
		assert.ElementsMatch(t, [][]int{{0}, {1}}, s.loads())
		s.land(1)
		synctest.Wait()
		assert.Equal(t, []int{2, 3, 4}, s.latest(), "in the order of their coming")
		s.send(5)
		s.land(2)
		synctest.Wait()
		assert.Equal(t, []int{5}, s.latest())
		assert.Zero(t, time.Since(began), "a flight that lands takes along what waits")
	})
}

func TestCoalescer_AFlightIsBounded(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		s.send(0, 1)
		many := 2*wire.MaxFlight + 10
		for n := range many {
			s.send(2 + n)
		}
		var got []int
		s.land(0)
		synctest.Wait()
		for _, want := range []int{wire.MaxFlight, wire.MaxFlight, 10} {
			load := s.latest()
			require.Len(t, load, want)
			got = append(got, load...)
			s.land(load[0])
			synctest.Wait()
		}
		for i, n := range got {
			require.Equal(t, 2+i, n, "in order also from flight to flight")
		}
	})
}

// A connection that hangs costs the others a moment, once.
func TestCoalescer_AStalledFlightGivesItsLaneToOthers(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		s.send(0, 1, 2)
		time.Sleep(wire.Stall - 1)
		synctest.Wait()
		require.Equal(t, 2, s.count(), "not stalled yet")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, []int{2}, s.latest())

		s.send(3)
		synctest.Wait()
		assert.Equal(t, []int{3}, s.latest(), "the second lane is free too")
		s.send(4)
		time.Sleep(wire.Stall - 1)
		synctest.Wait()
		require.Equal(t, 4, s.count(), "they take lanes as any other does")
		s.land(3)
		synctest.Wait()
		assert.Equal(t, []int{4}, s.latest())
	})
}

// A flight that took off while others waited is looked at with the next look but one, and so within twice the time.
func TestCoalescer_NobodyWaitsForLongWhileFlightsStall(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		s.send(0, 1)
		last := 2 + 2*wire.MaxFlight
		for n := 2; n <= last; n++ {
			s.send(n)
		}
		time.Sleep(wire.Stall / 2)
		s.land(0, 1)
		synctest.Wait()
		require.Equal(t, 2, s.count())
		time.Sleep(wire.Stall)
		synctest.Wait()
		require.Equal(t, 2, s.count(), "at the first look none of them stalled yet")
		time.Sleep(wire.Stall / 2)
		synctest.Wait()
		assert.Equal(t, []int{last}, s.latest())
	})
}

// Stalled flights hold connections, of which others must find some.
func TestCoalescer_NeverMoreFlightsThanAllowed(t *testing.T) {
	for most, flights := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 3, 5: 5} {
		inTheSky(t, most, func(t *testing.T, s *sky) {
			for n := range 10 {
				s.send(n)
				time.Sleep(2 * wire.Stall)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, flights, s.count(), "most %d", most)
			s.land(flights - 1)
			synctest.Wait()
			require.Equal(t, flights, s.count())
			assert.Len(t, s.latest(), 10-flights, "all who wait share the one that is allowed")
		})
	}
}

// Other flights have its lane, so one that stalled comes home for good; and its next load has a lane like any other.
func TestCoalescer_AStalledFlightThatLandsMakesNoThirdLane(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		s.send(0, 1, 2)
		time.Sleep(wire.Stall)
		synctest.Wait()
		s.send(3, 4)
		synctest.Wait()
		require.Equal(t, 4, s.count())
		s.land(0, 1)
		synctest.Wait()
		assert.ElementsMatch(t, [][]int{{2}, {3}}, s.loads(), "the lanes are taken")
		s.land(2, 3)
		synctest.Wait()
		assert.Equal(t, [][]int{{4}}, s.loads())
		s.land(4)
		synctest.Wait()

		s.send(5, 6, 7)
		synctest.Wait()
		assert.ElementsMatch(t, [][]int{{5}, {6}}, s.loads())
		assert.Zero(t, s.Idle())
	})
}

func TestCoalescer_Withdraw(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		s.send(0, 1, 2, 3, 4)
		synctest.Wait()
		assert.True(t, s.withdraw(3))
		assert.False(t, s.withdraw(3), "it is gone")
		assert.False(t, s.withdraw(0), "it is on its way")
		s.land(0)
		synctest.Wait()
		assert.Equal(t, []int{2, 4}, s.latest())
		assert.False(t, s.withdraw(2), "so is this")
		assert.False(t, s.withdraw(0), "it has landed")

		s.send(5)
		assert.True(t, s.withdraw(5))
		s.land(1)
		time.Sleep(2 * wire.Stall)
		synctest.Wait()
		assert.Equal(t, [][]int{{2, 4}}, s.loads(), "nobody waits any more")
	})
}

// Flights that idle end after a time without any take-off, and others take their place when there is traffic again.
func TestCoalescer_IdleFlightsEnd(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		for n := range 3 {
			s.send(n)
			s.land(n)
			synctest.Wait()
			require.Equal(t, 1, s.Idle())
			time.Sleep(wire.Idleness * 6 / 10)
			synctest.Wait()
			require.Equal(t, 1, s.Idle(), "it is kept as long as there is traffic")
		}
		time.Sleep(wire.Idleness*4/10 - 1)
		synctest.Wait()
		assert.Equal(t, 1, s.Idle(), "the latest take-off is not that long ago")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Zero(t, s.Idle())

		s.send(3)
		synctest.Wait()
		assert.Equal(t, []int{3}, s.latest())
		s.land(3)
		time.Sleep(wire.Idleness)
		synctest.Wait()
		assert.Zero(t, s.Idle(), "and so again")
	})
}

// Of many that stalled no more are kept than there are lanes.
func TestCoalescer_FewFlightsIdle(t *testing.T) {
	inTheSky(t, enough, func(t *testing.T, s *sky) {
		for n := range 10 {
			s.send(n)
			time.Sleep(2 * wire.Stall)
		}
		synctest.Wait()
		require.Equal(t, 10, s.count())
		s.land(s.all()...)
		synctest.Wait()
		assert.Equal(t, wire.Lanes, s.Idle())
		time.Sleep(wire.Idleness)
		synctest.Wait()
		assert.Zero(t, s.Idle())
	})
}

// No goroutine is left after close: those of flights that idle end with it, those of flights under way when they land.
func TestCoalescer_CloseEndsItsGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(enough)
		s.send(0, 1)
		s.land(0)
		synctest.Wait()
		require.Equal(t, 1, s.Idle())
		s.Close()
		assert.Zero(t, s.Idle())
		s.land(1)
		synctest.Wait()
		assert.Zero(t, s.Idle(), "it does not idle any more")
		// A goroutine that is left would be a deadlock to the bubble, where no time passes when the test has returned.
	})
}

// Callers of all kinds, flights that stall or do not: each attempt flies once or is withdrawn, and all bounds are kept.
func TestCoalescer_NobodyIsLost(t *testing.T) {
	const callers, rounds, most = 50, 100, 5
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		var flying, flown, withdrawn atomic.Int64
		done := make([]chan struct{}, callers*rounds)
		for i := range done {
			done[i] = make(chan struct{})
		}
		c := wire.NewCoalescer(most, func(load []*wire.Attempt) {
			assert.LessOrEqual(t, flying.Add(1), int64(most))
			assert.LessOrEqual(t, len(load), wire.MaxFlight)
			assert.NotEmpty(t, load)
			time.Sleep(rand.N(3 * wire.Stall))
			flying.Add(-1)
			for _, a := range load {
				flown.Add(1)
				close(done[a.Sent]) // a second time would be a panic
			}
		})
		var all sync.WaitGroup
		for caller := range callers {
			random := rand.New(rand.NewPCG(seed, uint64(caller)))
			all.Go(func() {
				for round := range rounds {
					n := caller*rounds + round
					a := &wire.Attempt{Sent: time.Duration(n)}
					c.Send(a)
					if time.Sleep(pause(random)); random.IntN(3) == 0 && c.Withdraw(a) {
						withdrawn.Add(1)
						close(done[n])
					}
					if random.IntN(2) == 0 {
						<-done[n]
					}
				}
			})
		}
		all.Wait()
		for _, d := range done {
			<-d
		}
		t.Logf("%d flew, %d were withdrawn", flown.Load(), withdrawn.Load())
		assert.EqualValues(t, callers*rounds, flown.Load()+withdrawn.Load())
		assert.Positive(t, withdrawn.Load())
		c.Close()
	})
}

// pause is none more often than not, so that attempts come in crowds.
func pause(random *rand.Rand) time.Duration {
	if random.IntN(3) > 0 {
		return 0
	}
	return time.Duration(random.Int64N(int64(wire.Stall)))
}

// sky is a coalescer and where its flights are, each until it is let down. Attempts are numbers.
type sky struct {
	wire.Coalescer

	attempts map[int]*wire.Attempt
	mu       sync.Mutex // guards up
	up       []*flown   // in the order of their take-off
}

type flown struct {
	load []int
	land chan struct{}
}

func newSky(most int) *sky {
	s := &sky{attempts: map[int]*wire.Attempt{}}
	s.Coalescer = wire.NewCoalescer(most, s.fly)
	return s
}

// inTheSky runs a test in a bubble, and lands all that is up at its end.
func inTheSky(t *testing.T, most int, test func(t *testing.T, s *sky)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSky(most)
		defer func() {
			s.Close()
			for synctest.Wait(); s.count() > 0; synctest.Wait() {
				s.land(s.all()...)
			}
		}()
		test(t, s)
	})
}

func (s *sky) fly(load []*wire.Attempt) {
	f := &flown{land: make(chan struct{})}
	for _, a := range load {
		f.load = append(f.load, int(a.Sent))
	}
	s.mu.Lock()
	s.up = append(s.up, f)
	s.mu.Unlock()
	<-f.land
}

func (s *sky) send(numbers ...int) {
	for _, n := range numbers {
		s.attempts[n] = &wire.Attempt{Sent: time.Duration(n)}
		s.Send(s.attempts[n])
	}
}

func (s *sky) withdraw(n int) bool { return s.Withdraw(s.attempts[n]) }

// land lets down the flights whose loads begin with these.
func (s *sky) land(first ...int) {
	synctest.Wait()
	for _, n := range first {
		s.landOne(n)
	}
}

func (s *sky) landOne(first int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.up {
		if f.load[0] == first {
			close(f.land)
			s.up = append(s.up[:i:i], s.up[i+1:]...)
			return
		}
	}
	panic("no such flight is up")
}

// loads are those of the flights that are up.
func (s *sky) loads() (loads [][]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.up {
		loads = append(loads, f.load)
	}
	return loads
}

func (s *sky) count() int { return len(s.loads()) }

func (s *sky) latest() []int {
	loads := s.loads()
	if len(loads) == 0 {
		return nil
	}
	return loads[len(loads)-1]
}

// all are the first attempts of the flights that are up.
func (s *sky) all() (first []int) {
	for _, load := range s.loads() {
		first = append(first, load[0])
	}
	return first
}
