package runner

import (
	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
)

// Sum makes metrics of what processes of a peer did while its server spent so much.
func Sum(p peers.Peer, results []cells.Result, seconds, cpu float64, calls map[string]int64, probes int64) map[string]float64 {
	metrics := make(map[string]float64)
	c := &cell{peer: p, probes: probes}
	c.sum(metrics, results, usage{took: seconds, cpu: cpu, calls: calls})
	return metrics
}
