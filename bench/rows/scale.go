package rows

import (
	"fmt"

	"github.com/rlock-go/rlock/bench/peers"
)

// The sweeps: what grows.
const (
	Goroutines = "goroutines"
	Names      = "names"
	Waiters    = "waiters"
)

var scaleColumns = []string{PerSecond, PairP50, PairP99, Commands, ClientCPU, ServerCPU}

// Scale are the rows of the sweeps: the cost of one operation while something grows.
func Scale() []Row {
	var all []Row
	for _, n := range []int{1, 4, 16, 64, 256, 1024, 4096} {
		all = append(all, scaleRow(Goroutines, n, n, func(size Size) Plan { return distinctPlan(size, n, n, 0) }))
	}
	for _, n := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		all = append(all, scaleRow(Names, n, 64, func(size Size) Plan { return distinctPlan(size, 64, n, 0) }))
	}
	for _, n := range []int{1, 5, 20, 100, 500, 2000} {
		all = append(all, scaleRow(Waiters, n, n+1, func(size Size) Plan { return hotPlan(size, 1, n+1, 0) }))
	}
	return all
}

func scaleRow(sweep string, x, goroutines int, plan func(Size) Plan) Row {
	titles := map[string]string{
		Goroutines: "%d goroutines, a lock each",
		Names:      "64 goroutines, %d names",
		Waiters:    "%d waiters for one lock",
	}
	columns := scaleColumns
	if sweep == Waiters {
		columns = []string{PerSecond, WaitP50, WaiterP99, WaitMax, Commands, ClientCPU, ServerCPU}
	}
	return Row{
		Name: fmt.Sprintf("%s%d", sweep, x), Title: fmt.Sprintf(titles[sweep], x), Headline: PerSecond, Columns: columns,
		Sweep: sweep, X: x, Plan: plan,
		Lacks: func(p peers.Peer) string {
			if p.Sessions > 0 && p.Sessions < goroutines {
				return "too many sessions"
			}
			if sweep == Waiters || sweep == Names && x < goroutines {
				return whoWaits(p)
			}
			return ""
		},
	}
}
