// Package runner measures: it lays out the processes of a cell around a fresh server, looks at the server before and after,
// and repeats that for every peer and row, in rounds.
package runner

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/servers"
)

const (
	startPatience = 2 * time.Minute // for a virtual machine to start and 2,000 sessions to open
	endPatience   = time.Minute     // when the time that is measured is over
)

// prefix is what all names of locks begin with. Each cell has a server of its own, so they need not differ.
const prefix = "bench"

// Argv says how a process of a peer's cell is started; the spec's words follow.
type Argv func(p peers.Peer) ([]string, error)

// cell is one measurement under way.
type cell struct {
	peer     peers.Peer
	plan     rows.Plan
	server   *servers.Server
	redis    *redisView // nil for other stores
	children []*cells.Child
	probes   int64 // PINGs of the view while it was measured
}

// measure runs one cell on a server of its own and returns its metrics and the server's version.
func measure(
	ctx context.Context, p peers.Peer, plan rows.Plan, argv Argv,
) (metrics map[string]float64, version string, err error) {
	server, err := servers.Start(ctx, p.Store)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	c := &cell{peer: p, plan: plan, server: server}
	if p.Store == peers.Redis {
		c.redis = newRedisView(server.Addr)
		defer c.redis.close()
	}
	metrics, err = c.run(ctx, argv)
	return metrics, server.Version, err
}

func (c *cell) run(ctx context.Context, argv Argv) (map[string]float64, error) {
	metrics := make(map[string]float64)
	if c.plan.Probe && c.redis != nil {
		metrics[rows.QuietMax] = c.redis.probe(ctx, time.Second).Max.Seconds()
	}
	addr, stop, err := c.distance(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	defer c.end()
	if err := c.start(ctx, addr, argv); err != nil {
		return nil, err
	}
	results, used, err := c.play(ctx, metrics)
	if err != nil {
		return nil, err
	}
	c.sum(metrics, results, used)
	return metrics, nil
}

// distance puts the delaying proxy in front of the server, if the plan wants one.
func (c *cell) distance(ctx context.Context) (addr string, stop func(), err error) {
	if c.plan.Distance == 0 {
		return c.server.Addr, func() {}, nil
	}
	proxy, err := servers.StartDelay(ctx, c.server.Addr, c.plan.Distance)
	if err != nil {
		return "", nil, err
	}
	return proxy.Addr, func() { _ = proxy.Stop() }, nil
}

// start starts the processes one after the other, each when the one before is ready.
func (c *cell) start(ctx context.Context, addr string, argv Argv) error {
	command, err := argv(c.peer)
	if err != nil {
		return err
	}
	for i := range c.plan.Processes {
		spec := c.plan.Processes[i]
		spec.Peer, spec.Addr, spec.Process, spec.Prefix = c.peer.Name, addr, i, prefix
		spec.Distance = c.plan.Distance
		child, err := cells.Start(ctx, command, spec)
		if err != nil {
			return err
		}
		c.children = append(c.children, child)
		if err := child.AwaitReady(startPatience); err != nil {
			return err
		}
	}
	return nil
}

func (c *cell) end() {
	for _, child := range c.children {
		child.End()
	}
}

// play lets all processes go and returns what they measured, and what the server did in the same time.
func (c *cell) play(ctx context.Context, metrics map[string]float64) ([]cells.Result, usage, error) {
	before, err := c.look(ctx)
	if err != nil {
		return nil, usage{}, err
	}
	watched := c.watch(ctx, metrics)
	for _, child := range c.children {
		if err := child.Go(); err != nil {
			return nil, usage{}, err
		}
	}
	time.Sleep(c.plan.Processes[0].Duration)
	after, err := c.look(ctx) // now, for what is under way may end long after
	if err != nil {
		return nil, usage{}, err
	}
	if err := errors.Join(watched(), c.connections(ctx, metrics)); err != nil {
		return nil, usage{}, err
	}
	results, err := c.results()
	return results, after.since(before), err
}

func (c *cell) results() ([]cells.Result, error) {
	var results []cells.Result
	for _, child := range c.children {
		result, err := child.AwaitResult(endPatience)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// watch observes the server while the processes work, in ways that the plan asks for. The returned function waits for the
// end of that and files what was seen.
func (c *cell) watch(ctx context.Context, metrics map[string]float64) func() error {
	if c.redis == nil || !c.plan.Probe && !c.plan.Renewals {
		return func() error { return nil }
	}
	ended := make(chan error, 1)
	spec := c.plan.Processes[0]
	spec.Prefix = prefix
	go func() {
		if c.plan.Probe {
			others := c.redis.probe(ctx, spec.Duration)
			c.probes = others.Count()
			metrics[rows.OtherP99], metrics[rows.OtherMax] = others.Quantile(0.99), others.Max.Seconds()
		}
		var err error
		if c.plan.Renewals {
			metrics[rows.LatestRenewal], err = c.redis.latestRenewal(ctx, spec)
		}
		ended <- err
	}()
	return func() error { return <-ended }
}

// connections counts what is connected, and what is no longer there though it is held.
func (c *cell) connections(ctx context.Context, metrics map[string]float64) error {
	if c.redis == nil {
		return nil
	}
	all, subscribed, err := c.redis.connections(ctx)
	if err != nil {
		return err
	}
	metrics[rows.Connections], metrics[rows.Subscribers] = float64(all), float64(subscribed)
	keys, err := c.redis.client.DBSize(ctx).Result()
	if c.plan.Keys > 0 {
		metrics[rows.Lost] = float64(max(int64(c.plan.Keys)-keys, 0))
	}
	return err
}

// usage is what a server has done, from its start or between two looks.
type usage struct {
	at    time.Time
	took  float64          // seconds between the looks
	cpu   float64          // seconds
	calls map[string]int64 // commands by name; nil if the server does not count them
}

func (c *cell) look(ctx context.Context) (usage, error) {
	if c.redis != nil {
		return c.redis.look(ctx)
	}
	cpu, err := c.server.CPU()
	return usage{at: time.Now(), cpu: cpu.Seconds()}, err
}

func (u usage) since(before usage) usage {
	u.took = u.at.Sub(before.at).Seconds()
	u.cpu -= before.cpu
	for name, n := range before.calls {
		u.calls[name] -= n
	}
	return u
}

// ratio is 0 ÷ 0 for what was not done, which is left out of every table.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}
