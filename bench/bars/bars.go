// Package bars is what the locks must cost, as data, and the judgement of a run by it.
package bars

import (
	"slices"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/rows"
)

// Sense says on which side of its limit a value must lie.
type Sense string

// The senses.
const (
	AtLeast Sense = "≥"
	AtMost  Sense = "≤"
)

// Bar is one demand on rlock in one row: on its own value, or on its value divided by that of peers. Against several peers
// the bar must be met against each of them.
type Bar struct {
	Row     string
	Metric  string
	Sense   Sense
	Limit   float64
	Against []string // peers; empty: the value itself
	Aside   bool     // not part of the short check, for which peers this would take long
}

// Tolerance is by how much a bar may be missed before the check fails: what one machine's runs differ by.
const Tolerance = 0.15

const (
	redislock     = "redislock"
	redislockFast = "redislock 5ms"
	redsync       = "redsync"
	rueidislock   = "rueidislock"
	redisson      = "Redisson"
)

var (
	polling   = []string{redislock, redislockFast, redsync}
	onRedis   = []string{redislock, redislockFast, redsync, rueidislock, redisson}
	elsewhere = []string{"etcd", "PostgreSQL", "ZooKeeper"}
)

// All are the bars, in the order of the rows.
var All = []Bar{
	{Row: "uncontended", Metric: rows.PingRatio, Sense: AtMost, Limit: 1.25},
	{Row: "uncontended", Metric: rows.Allocs, Sense: AtMost, Limit: 24},

	{Row: "distinct64", Metric: rows.PerSecond, Sense: AtLeast, Limit: 1.25, Against: []string{rueidislock}},
	{Row: "distinct64", Metric: rows.PerSecond, Sense: AtLeast, Limit: 1.6, Against: []string{redislock}},
	{Row: "distinct64", Metric: rows.PerSecond, Sense: AtLeast, Limit: 7, Against: []string{redisson}},

	{Row: "distinct512", Metric: rows.PerSecond, Sense: AtLeast, Limit: 1.4, Against: []string{rueidislock}},
	{Row: "distinct512", Metric: rows.PerSecond, Sense: AtLeast, Limit: 10, Against: []string{redisson}},
	{Row: "distinct512", Metric: rows.ServerCores, Sense: AtLeast, Limit: 0.8},

	{Row: "distant512", Metric: rows.PerSecond, Sense: AtLeast, Limit: 2.5, Against: []string{peers.BareScripts}},

	{Row: "hot16", Metric: rows.Commands, Sense: AtMost, Limit: 1.3},
	{Row: "hot16", Metric: rows.Fairness, Sense: AtLeast, Limit: 0.9},
	{Row: "hot16", Metric: rows.WaiterP99, Sense: AtMost, Limit: 0.1, Against: polling},
	{Row: "hot16", Metric: rows.PerSecond, Sense: AtLeast, Limit: 1, Against: onRedis},
	{Row: "hot16", Metric: rows.PerSecond, Sense: AtLeast, Limit: 1, Against: elsewhere, Aside: true},

	{Row: "hot4x4", Metric: rows.PerSecond, Sense: AtLeast, Limit: 1, Against: onRedis},
	{Row: "hot4x4", Metric: rows.PerSecond, Sense: AtLeast, Limit: 1, Against: elsewhere, Aside: true},
	{Row: "hot4x4", Metric: rows.Commands, Sense: AtMost, Limit: 3},
	{Row: "hot4x4", Metric: rows.WaitMax, Sense: AtMost, Limit: 0.35, Against: []string{redislock, redisson}},
	{Row: "hot4x4", Metric: rows.ProcessShare, Sense: AtLeast, Limit: 0.4},

	{Row: "waiters2000", Metric: rows.CommandsPerSecond, Sense: AtMost, Limit: 1},
	{Row: "waiters2000", Metric: rows.Subscribers, Sense: AtMost, Limit: 1},
	{Row: "waiters2000", Metric: rows.HeapPerWaiter, Sense: AtMost, Limit: 2048},
	{Row: "waiters2000", Metric: rows.ClientCores, Sense: AtMost, Limit: 0.001},

	{Row: "held10k", Metric: rows.Lost, Sense: AtMost, Limit: 0},
	{Row: "held10k", Metric: rows.ClientCores, Sense: AtMost, Limit: 0.03},
	{Row: "held10k", Metric: rows.OtherMax, Sense: AtMost, Limit: 0.005},
	{Row: "held10k", Metric: rows.Routines, Sense: AtMost, Limit: 1},

	{Row: "held100k", Metric: rows.Lost, Sense: AtMost, Limit: 0},
	{Row: "held100k", Metric: rows.LatestRenewal, Sense: AtMost, Limit: 0.6},
}

// CheckPeers are whom the short check measures.
var CheckPeers = append([]string{peers.Ours, peers.BareScripts}, onRedis...)

// Wants says whether the short check needs a peer at a row: rlock, and whom a bar compares it with.
func Wants(row, peer string) bool {
	return slices.ContainsFunc(All, func(b Bar) bool {
		return b.Row == row && !b.Aside && (peer == peers.Ours || slices.Contains(b.Against, peer))
	})
}
