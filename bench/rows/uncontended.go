package rows

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
)

const uncontendedWork = "uncontended"

var uncontendedRow = Row{
	Name:     "uncontended",
	Title:    "lock and unlock, one goroutine, free lock",
	Headline: PairP50,
	Columns:  []string{PairP50, PairP99, PingRatio, PerSecond, Allocs, Commands, ClientCPU, ServerCPU},
	Lacks:    anybody,
	Plan: func(size Size) Plan {
		return Plan{Processes: []cells.Spec{{
			Work: uncontendedWork, Goroutines: 1, Names: 1, Lease: lease, Warmup: size.Warmup, Duration: size.Work,
		}}}
	},
}

// uncontended measures pairs of lock and unlock, then counts their allocations, and does as many pairs of PINGs in between,
// one after the other, so that whatever disturbs the machine disturbs both.
func uncontended(s *cells.Stage) (r cells.Result, err error) {
	client, err := open(s, false)
	if err != nil {
		return r, err
	}
	handle, err := client.Handle(s.Spec.Name(0))
	if err != nil {
		return r, err
	}
	pinger, _ := client.(peers.Pinger)
	ctx := context.Background()
	if err := alternate(ctx, handle, pinger, s.Spec.Warmup, &cells.Result{}); err != nil {
		return r, err
	}
	allocs, err := countAllocs(ctx, handle)
	if err != nil {
		return r, err
	}
	if err := s.Ready(); err != nil {
		return r, err
	}
	if err := alternate(ctx, handle, pinger, s.Spec.Duration, &r); err != nil {
		return r, err
	}
	r.Allocs = allocs
	r.Shares = []int64{r.Ops}
	return s.Stop(r), nil
}

func alternate(ctx context.Context, handle peers.Handle, pinger peers.Pinger, d time.Duration, r *cells.Result) error {
	for end := time.Now().Add(d); time.Now().Before(end); r.Ops++ {
		start := time.Now()
		if err := pair(ctx, handle); err != nil {
			return err
		}
		r.Waits.Add(time.Since(start))
		if pinger == nil {
			continue
		}
		start = time.Now()
		for range 2 {
			if err := pinger.Ping(ctx); err != nil {
				return err
			}
		}
		r.Pings.Add(time.Since(start))
	}
	return nil
}

func pair(ctx context.Context, handle peers.Handle) error {
	if err := handle.Lock(ctx); err != nil {
		return err
	}
	return handle.Unlock(ctx)
}

// countAllocs is how many allocations one pair makes, of the library and its client below.
func countAllocs(ctx context.Context, handle peers.Handle) (float64, error) {
	const pairs = 500
	before := cells.Mallocs()
	for range pairs {
		if err := pair(ctx, handle); err != nil {
			return 0, err
		}
	}
	return float64(cells.Mallocs()-before) / pairs, nil
}
