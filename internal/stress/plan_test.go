package stress_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	wholeEnv = "RLOCK_STRESS"
	seedEnv  = "RLOCK_STRESS_SEED"
)

func whole() bool { return os.Getenv(wholeEnv) == "1" }

// share is n in the whole, and that part of it else.
func share(n, part int) int {
	if whole() {
		return n
	}
	return n / part
}

// tenth is the usual share.
func tenth(n int) int { return share(n, 10) }

// plan is where every choice of a test comes from.
type plan struct{ seed uint64 }

// newPlan says how to get the same plan again.
func newPlan(t *testing.T) plan {
	t.Helper()
	p := plan{seed: rand.Uint64()}
	if text := os.Getenv(seedEnv); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, seedEnv)
		p.seed = seed
	}
	fmt.Printf("%s: %s=%d, whole: %t\n", t.Name(), seedEnv, p.seed, whole())
	return p
}

// dice are the choices of one actor, which no other's order can disturb: the actor is known by a word and numbers.
func (p plan) dice(actor string, numbers ...int) dice {
	name := fnv.New64a()
	_, _ = fmt.Fprint(name, actor, numbers)
	return dice{rand.New(rand.NewPCG(p.seed, name.Sum64()))}
}

// dice belong to one goroutine.
type dice struct{ *rand.Rand }

// chance is true once in so many times.
func (d dice) chance(of float64) bool { return d.Float64() < of }

// upTo is a time below most.
func (d dice) upTo(most time.Duration) time.Duration { return time.Duration(d.Int64N(int64(most))) }

// between is a time from least up to most.
func (d dice) between(least, most time.Duration) time.Duration { return least + d.upTo(most-least) }

// pick is one of them.
func pick[T any](d dice, some ...T) T { return some[d.IntN(len(some))] }
