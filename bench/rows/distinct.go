package rows

import (
	"time"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
)

const distinctWork = "distinct"

var distinctColumns = []string{
	PerSecond, PairP50, PairP99, WaitMax, Fairness, Commands, Allocs, ClientCores, ClientCPU, ServerCores, ServerCPU,
}

var distinct64Row = distinctOf("distinct64", "distinct locks, 64 goroutines", 64, 0)

var distinct512Row = distinctOf("distinct512", "distinct locks, 512 goroutines", 512, 0)

var distantRow = distinctOf("distant512", "distinct locks, 512 goroutines, 1 ms round trip", 512, time.Millisecond)

func distinctOf(name, title string, goroutines int, distance time.Duration) Row {
	return Row{
		Name: name, Title: title, Headline: PerSecond, Columns: distinctColumns,
		Lacks: func(p peers.Peer) string {
			if p.Sessions > 0 && p.Sessions < goroutines {
				return "too many sessions"
			}
			return ""
		},
		Plan: func(size Size) Plan { return distinctPlan(size, goroutines, goroutines, distance) },
	}
}

func distinctPlan(size Size, goroutines, names int, distance time.Duration) Plan {
	return Plan{Distance: distance, Processes: []cells.Spec{{
		Work: distinctWork, Goroutines: goroutines, Names: names, Lease: lease, Warmup: size.Warmup, Duration: size.Work,
	}}}
}

// distinct is goroutines that go through their own locks in turn, or share them if there are fewer locks than goroutines.
func distinct(s *cells.Stage) (cells.Result, error) {
	client, err := open(s, s.Spec.Names < s.Spec.Goroutines)
	if err != nil {
		return cells.Result{}, err
	}
	each := max(s.Spec.Names/s.Spec.Goroutines, 1)
	c, err := newCrowd(client, s.Spec, func(worker int) []string {
		names := make([]string, each)
		for i := range names {
			names[i] = s.Spec.Name((worker*each + i) % s.Spec.Names)
		}
		return names
	})
	if err != nil {
		return cells.Result{}, err
	}
	c.pairs = true
	return c.perform(s)
}
