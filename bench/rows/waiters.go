package rows

import (
	"context"
	"errors"
	"time"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
)

const (
	waitersWork = "waiters"

	holder = "holder" // the role of who has the locks; the others wait for them

	// longLease is so long that holders need no renewal while the waiters are measured.
	longLease = 10 * time.Minute
)

var waitersRow = Row{
	Name:     "waiters2000",
	Title:    "2,000 waiters on 200 held locks",
	Headline: CommandsPerSecond,
	Columns:  []string{CommandsPerSecond, Subscribers, Connections, HeapPerWaiter, ClientCores, ServerCores},
	Lacks:    func(p peers.Peer) string { return lacksWaiters(p, 2200) },
	Plan:     func(size Size) Plan { return waitersPlan(size, 2000, 200) },
}

func lacksWaiters(p peers.Peer, sessions int) string {
	if p.Sessions > 0 && p.Sessions < sessions {
		return "a session for each"
	}
	return whoWaits(p)
}

func waitersPlan(size Size, waiting, names int) Plan {
	return Plan{Processes: []cells.Spec{
		{Work: waitersWork, Role: holder, Goroutines: names, Names: names, Lease: longLease, Duration: size.Still},
		{
			Work: waitersWork, Goroutines: waiting, Names: names, Lease: longLease,
			Warmup: max(size.Warmup, time.Second), Duration: size.Still,
		},
	}}
}

// waiters has one process hold all locks and one wait for them in vain.
func waiters(s *cells.Stage) (cells.Result, error) {
	client, err := open(s, s.Spec.Role != holder)
	if err != nil {
		return cells.Result{}, err
	}
	if s.Spec.Role == holder {
		return holdThem(s, client)
	}
	return waitForThem(s, client)
}

func holdThem(s *cells.Stage, client peers.Client) (r cells.Result, err error) {
	for i := range s.Spec.Names {
		handle, err := client.Handle(s.Spec.Name(i))
		if err != nil {
			return r, err
		}
		if err := handle.Lock(context.Background()); err != nil {
			return r, err
		}
	}
	if err := s.Ready(); err != nil {
		return r, err
	}
	time.Sleep(s.Spec.Duration)
	return s.Stop(r), nil
}

// warmConnections is how many goroutines warm the waiters' client up: as many as go-redis has connections.
const warmConnections = 64

// waitForThem takes the heap that the waiters, with all that they have brought along, hold for their price.
func waitForThem(s *cells.Stage, client peers.Client) (r cells.Result, err error) {
	if err := warmUp(s, client, warmConnections); err != nil {
		return r, err
	}
	before := cells.Heap()
	ended := make(chan error, s.Spec.Goroutines)
	for i := range s.Spec.Goroutines {
		handle, err := client.Handle(s.Spec.Name(i % s.Spec.Names))
		if err != nil {
			return r, err
		}
		go func() { ended <- handle.Lock(context.Background()) }()
	}
	time.Sleep(s.Spec.Warmup) // until all have found their place
	r.Each = (float64(cells.Heap()) - float64(before)) / float64(s.Spec.Goroutines)
	if err := s.Ready(); err != nil {
		return r, err
	}
	select {
	case err := <-ended:
		return r, errors.Join(errors.New("a waiter on a held lock came to an end"), err)
	case <-time.After(s.Spec.Duration):
		return s.Stop(r), nil
	}
}
