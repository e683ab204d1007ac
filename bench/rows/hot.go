package rows

import (
	"sync/atomic"
	"time"

	"github.com/rlock-go/rlock/bench/cells"
)

const hotWork = "hot"

var hotRow = Row{
	Name:     "hot16",
	Title:    "one hot lock, 16 goroutines, 1 process",
	Headline: PerSecond,
	Columns: []string{
		PerSecond, Commands, WaitP50, WaitP99, WaiterP99, WaitMax, Stuck, Fairness, Allocs, ClientCores, ServerCores, ServerCPU,
	},
	Lacks: whoWaits,
	Plan:  func(size Size) Plan { return hotPlan(size, 1, 16, 0) },
}

var processesRow = Row{
	Name:     "hot4x4",
	Title:    "one hot lock, 4 processes × 4 goroutines, 1 ms of work",
	Headline: PerSecond,
	Columns: []string{
		PerSecond, Commands, WaitP50, WaitP99, WaiterP99, WaitMax, Stuck, ProcessShare, Fairness, ClientCores, ServerCores, ServerCPU,
	},
	Lacks: whoWaits,
	Plan:  func(size Size) Plan { return hotPlan(size, 4, 4, time.Millisecond) },
}

func hotPlan(size Size, processes, goroutines int, busy time.Duration) Plan {
	plan := Plan{}
	for range processes {
		plan.Processes = append(plan.Processes, cells.Spec{
			Work: hotWork, Goroutines: goroutines, Names: 1, Lease: lease, Busy: busy, Warmup: size.Warmup, Duration: size.Work,
		})
	}
	return plan
}

// hot is goroutines that all want one lock.
func hot(s *cells.Stage) (cells.Result, error) {
	client, err := open(s, true)
	if err != nil {
		return cells.Result{}, err
	}
	c, err := newCrowd(client, s.Spec, func(int) []string { return []string{s.Spec.Name(0)} })
	if err != nil {
		return cells.Result{}, err
	}
	c.inside = new(atomic.Int64)
	return c.perform(s)
}
