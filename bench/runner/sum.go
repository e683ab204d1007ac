package runner

import (
	"maps"
	"math"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/stats"
)

// sum makes metrics of what the processes and the server did. What does not apply to the work is not a number, and dropped.
func (c *cell) sum(metrics map[string]float64, results []cells.Result, used usage) {
	total, processes := merge(results)
	ops := float64(total.Ops)
	metrics[rows.PerSecond] = ratio(ops, total.Seconds)
	if len(total.Shares) == 0 { // nobody was to acquire anything
		delete(metrics, rows.PerSecond)
	}
	c.sumWaits(metrics, &total)
	metrics[rows.Allocs] = total.Allocs
	metrics[rows.ClientCores] = ratio(total.CPU, total.Seconds)
	metrics[rows.ClientCPU] = ratio(total.CPU, ops)
	metrics[rows.ServerCores] = ratio(used.cpu, used.took)
	metrics[rows.ServerCPU] = ratio(used.cpu, ops)
	metrics[rows.Fairness] = stats.Fairness(total.Shares)
	metrics[rows.ProcessShare] = stats.LeastShare(processes)
	metrics[rows.HeapPerWaiter], metrics[rows.BytesPerHold] = total.Each, total.Each
	metrics[rows.Routines] = total.Routine
	if used.calls != nil {
		sent := float64(c.peer.Commands.Sent(used.calls) - 2*total.Pings.Count() - c.probes)
		metrics[rows.Commands] = ratio(sent, ops)
		metrics[rows.CommandsPerSecond] = ratio(sent, used.took)
	}
	if c.peer.Java {
		delete(metrics, rows.Allocs) // not counted there
	}
	maps.DeleteFunc(metrics, func(_ string, value float64) bool { return math.IsNaN(value) || math.IsInf(value, 0) })
}

func (c *cell) sumWaits(metrics map[string]float64, total *cells.Result) {
	p50, p99 := total.Waits.Quantile(0.5), total.Waits.Quantile(0.99)
	metrics[rows.PairP50], metrics[rows.PairP99] = p50, p99 // the row knows which of the two it measures
	metrics[rows.WaitP50], metrics[rows.WaitP99] = p50, p99
	if total.Waits.Count() > 0 {
		metrics[rows.WaitMax] = total.Waits.Max.Seconds()
	}
	if tail, ok := stats.SpreadOf(total.Tails); ok {
		metrics[rows.WaiterP99], metrics[rows.Stuck] = tail.Median, float64(total.Stuck)
	}
	metrics[rows.PingRatio] = ratio(p50, total.Pings.Quantile(0.5))
}

// merge adds up the processes, and tells what each of them got.
func merge(results []cells.Result) (total cells.Result, processes []int64) {
	for i := range results {
		r := &results[i]
		total.Seconds = max(total.Seconds, r.Seconds)
		total.Ops += r.Ops
		total.CPU += r.CPU
		total.Allocs += r.Allocs / float64(len(results))
		total.Each = max(total.Each, r.Each)
		total.Routine += r.Routine
		total.Shares = append(total.Shares, r.Shares...)
		total.Stuck += r.Stuck
		total.Tails = append(total.Tails, r.Tails...)
		total.Waits.Merge(r.Waits)
		total.Pings.Merge(r.Pings)
		processes = append(processes, r.Ops)
	}
	return total, processes
}
