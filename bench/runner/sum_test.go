package runner_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/runner"
)

var peer = peers.Peer{Commands: peers.Commands{Inside: []string{"get", "publish"}, Both: map[string]string{"del": "publish"}}}

func TestSumOfTwoProcesses(t *testing.T) {
	results := []cells.Result{
		{Seconds: 2, Ops: 300, Shares: []int64{100, 200}, CPU: 0.5, Allocs: 10, Tails: []float64{0.1, 0.2}, Stuck: 1},
		{Seconds: 2, Ops: 100, Shares: []int64{50, 50}, CPU: 0.7, Allocs: 20, Tails: []float64{0.3, 0.4}},
	}
	for range 90 {
		results[0].Waits.Add(time.Millisecond)
	}
	for range 10 {
		results[1].Waits.Add(time.Second)
	}
	got := runner.Sum(peer, results, 2.5, 1, map[string]int64{"evalsha": 800, "get": 700, "del": 500, "publish": 400}, 0)
	want := map[string]float64{
		rows.PerSecond: 200, rows.ClientCores: 0.6, rows.ClientCPU: 0.003, rows.ServerCores: 0.4, rows.ServerCPU: 0.0025,
		rows.Commands: 2.25, rows.CommandsPerSecond: 360, rows.Fairness: 0.25, rows.ProcessShare: 0.5, rows.Allocs: 15,
		rows.WaiterP99: 0.25, rows.WaitMax: 1, rows.Stuck: 1,
	}
	for metric, value := range want {
		assert.InDelta(t, value, got[metric], 1e-9, metric)
	}
	assert.InDelta(t, 0.001, got[rows.WaitP50], 0.00001, "of all waits together")
	assert.InDelta(t, 1, got[rows.WaitP99], 0.01)
	assert.NotContains(t, got, rows.PingRatio, "no PINGs")
}

func TestSumWithoutOperations(t *testing.T) {
	got := runner.Sum(peer, []cells.Result{{Seconds: 10, CPU: 0.1, Each: 1024}}, 10, 0.2, map[string]int64{"ping": 25}, 5)
	assert.InDelta(t, 2, got[rows.CommandsPerSecond], 1e-9, "the runner's own PINGs do not count")
	assert.InDelta(t, 1024, got[rows.HeapPerWaiter], 0)
	for _, metric := range []string{rows.PerSecond, rows.Commands, rows.ClientCPU, rows.ServerCPU, rows.Fairness, rows.WaitMax} {
		assert.NotContains(t, got, metric)
	}
}

func TestSumOfAStandstill(t *testing.T) {
	got := runner.Sum(peer, []cells.Result{{Seconds: 1, Shares: []int64{0, 0}}}, 1, 0, nil, 0)
	assert.Zero(t, got[rows.PerSecond])
	assert.Contains(t, got, rows.PerSecond, "who got nothing done is in the table")
	assert.NotContains(t, got, rows.CommandsPerSecond, "this server counts none")
}

func TestSumPings(t *testing.T) {
	r := cells.Result{Seconds: 1, Ops: 100, Shares: []int64{100}}
	for range 100 {
		r.Waits.Add(300 * time.Microsecond)
		r.Pings.Add(200 * time.Microsecond)
	}
	got := runner.Sum(peer, []cells.Result{r}, 1, 0, map[string]int64{"evalsha": 200, "ping": 200}, 0)
	assert.InDelta(t, 1.5, got[rows.PingRatio], 0.03)
	assert.InDelta(t, 2, got[rows.Commands], 1e-9, "the PINGs that it is compared with do not count")
}
