package rows

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
)

const heldWork = "held"

var held10kRow = Row{
	Name:     "held10k",
	Title:    "10,000 held locks, lease 3 s",
	Headline: ClientCores,
	Columns:  []string{ClientCores, Lost, CommandsPerSecond, OtherP99, OtherMax, QuietMax, Routines, BytesPerHold, ServerCores},
	Lacks:    whoRenews,
	Plan: func(size Size) Plan {
		plan := heldPlan(10_000, 3*time.Second, size.Still)
		plan.Probe = true
		return plan
	},
}

var held100kRow = Row{
	Name:     "held100k",
	Title:    "100,000 held locks, lease 30 s",
	Headline: ClientCores,
	Columns:  []string{ClientCores, Lost, CommandsPerSecond, LatestRenewal, BytesPerHold, Routines, ServerCores},
	Lacks:    alone,
	Plan: func(size Size) Plan {
		plan := heldPlan(100_000, lease, size.Long)
		plan.Renewals = true
		return plan
	},
}

func heldPlan(names int, lease, d time.Duration) Plan {
	return Plan{Keys: names, Processes: []cells.Spec{{
		Work: heldWork, Goroutines: 64, Names: names, Lease: lease, Duration: d,
	}}}
}

// held takes all locks and keeps them.
func held(s *cells.Stage) (r cells.Result, err error) {
	client, err := open(s, false)
	if err != nil {
		return r, err
	}
	if err := warmUp(s, client, s.Spec.Goroutines); err != nil {
		return r, err
	}
	heap, routines := cells.Heap(), runtime.NumGoroutine()
	handles, err := takeAll(s, client)
	if err != nil {
		return r, err
	}
	r.Each = (float64(cells.Heap()) - float64(heap)) / float64(s.Spec.Names)
	r.Routine = float64(runtime.NumGoroutine() - routines)
	if err := s.Ready(); err != nil {
		return r, err
	}
	time.Sleep(s.Spec.Duration)
	r = s.Stop(r)
	runtime.KeepAlive(handles)
	return r, nil
}

// warmUp opens the connections, which are no hold's and no waiter's. It uses locks that nobody else does.
func warmUp(s *cells.Stage, client peers.Client, goroutines int) error {
	spec := s.Spec
	spec.Goroutines = goroutines
	c, err := newCrowd(client, spec, func(worker int) []string { return []string{s.Spec.Name(-worker - 1)} })
	if err != nil {
		return err
	}
	return c.run(200 * time.Millisecond)
}

// takeAll takes the locks by several goroutines, which are gone when it returns.
func takeAll(s *cells.Stage, client peers.Client) ([]peers.Handle, error) {
	handles := make([]peers.Handle, s.Spec.Names)
	failures := make(chan error, s.Spec.Goroutines)
	var tasks sync.WaitGroup
	for first := range s.Spec.Goroutines {
		tasks.Go(func() {
			for i := first; i < len(handles); i += s.Spec.Goroutines {
				var err error
				if handles[i], err = client.Handle(s.Spec.Name(i)); err == nil {
					err = handles[i].Lock(context.Background())
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	tasks.Wait()
	close(failures)
	return handles, <-failures
}
