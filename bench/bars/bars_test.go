package bars_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/bars"
	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
)

const metric = rows.PerSecond

// ran is a report of one row, in which each peer has these values, one a round.
func ran(values map[string][]float64) *report.Report {
	row := &report.Row{Name: "row", Lacks: map[string]string{"absent": "not on this machine"}}
	for peer, rounds := range values {
		for round, value := range rounds {
			row.Cells = append(row.Cells, report.Cell{Round: round, Peer: peer, Metrics: map[string]float64{metric: value}})
		}
	}
	return &report.Report{Rows: []*report.Row{row}}
}

func TestJudgeOwnValue(t *testing.T) {
	cases := []struct {
		sense bars.Sense
		value float64
		want  bars.Outcome
	}{
		{bars.AtLeast, 100, bars.Met},
		{bars.AtLeast, 101, bars.Met},
		{bars.AtLeast, 99, bars.Near},
		{bars.AtLeast, 85.1, bars.Near},
		{bars.AtLeast, 84.9, bars.Missed},
		{bars.AtMost, 100, bars.Met},
		{bars.AtMost, 1, bars.Met},
		{bars.AtMost, 114.9, bars.Near},
		{bars.AtMost, 115.1, bars.Missed},
	}
	for _, c := range cases {
		bar := bars.Bar{Row: "row", Metric: metric, Sense: c.sense, Limit: 100}
		v := bar.Judge(ran(map[string][]float64{peers.Ours: {c.value}}))
		assert.Equal(t, c.want, v.Outcome, "%s 100, found %v", c.sense, c.value)
	}
}

func TestJudgeTakesTheMedian(t *testing.T) {
	bar := bars.Bar{Row: "row", Metric: metric, Sense: bars.AtLeast, Limit: 100}
	assert.Equal(t, bars.Met, bar.Judge(ran(map[string][]float64{peers.Ours: {1, 100, 1000}})).Outcome)
	assert.Equal(t, bars.Missed, bar.Judge(ran(map[string][]float64{peers.Ours: {1, 1, 1000}})).Outcome)
}

func TestJudgeRatioWithinRounds(t *testing.T) {
	// The peer is half as fast in each round; the second round was ten times slower for both.
	r := ran(map[string][]float64{peers.Ours: {200, 20, 220}, "peer": {100, 10, 110}})
	v := bars.Bar{Row: "row", Metric: metric, Sense: bars.AtLeast, Limit: 2, Against: []string{"peer"}}.Judge(r)
	assert.Equal(t, bars.Met, v.Outcome)
	assert.InDelta(t, 2, v.Value.Min, 1e-9)
	assert.InDelta(t, 2, v.Value.Max, 1e-9)
}

func TestJudgeAgainstSeveralTakesTheWorst(t *testing.T) {
	r := ran(map[string][]float64{peers.Ours: {100}, "slow": {50}, "fast": {200}})
	least := bars.Bar{Row: "row", Metric: metric, Sense: bars.AtLeast, Limit: 1, Against: []string{"slow", "fast", "absent"}}
	v := least.Judge(r)
	assert.Equal(t, bars.Missed, v.Outcome)
	assert.Equal(t, "fast", v.Peer)
	most := bars.Bar{Row: "row", Metric: metric, Sense: bars.AtMost, Limit: 1, Against: []string{"absent", "fast", "slow"}}
	v = most.Judge(r)
	assert.Equal(t, bars.Missed, v.Outcome)
	assert.Equal(t, "slow", v.Peer)
}

func TestJudgeUnmeasured(t *testing.T) {
	r := ran(map[string][]float64{peers.Ours: {100}})
	v := bars.Bar{Row: "row", Metric: metric, Sense: bars.AtLeast, Limit: 1, Against: []string{"absent"}}.Judge(r)
	assert.Equal(t, bars.Unmeasured, v.Outcome)
	assert.Equal(t, "not on this machine", v.Why)
	v = bars.Bar{Row: "other", Metric: metric, Sense: bars.AtLeast, Limit: 1}.Judge(r)
	assert.Equal(t, bars.Unmeasured, v.Outcome, "a row that did not run is no pass")
	v = bars.Bar{Row: "row", Metric: metric, Sense: bars.AtMost, Limit: 1000}.Judge(ran(nil))
	assert.Equal(t, bars.Unmeasured, v.Outcome)
}

func TestWants(t *testing.T) {
	assert.True(t, bars.Wants("held10k", peers.Ours))
	assert.True(t, bars.Wants("distant512", peers.BareScripts))
	assert.False(t, bars.Wants("distant512", "redislock"))
	assert.False(t, bars.Wants("hot16", "etcd"), "aside")
	assert.False(t, bars.Wants("no such row", peers.Ours))
}

func TestMissedOf(t *testing.T) {
	verdicts := []bars.Verdict{{Outcome: bars.Met}, {Outcome: bars.Near}, {Outcome: bars.Unmeasured}, {Outcome: bars.Missed}}
	assert.Equal(t, verdicts[3:], bars.MissedOf(verdicts))
}

// TestBarsNameWhatThereIs finds a bar that a renamed row, metric or peer has left behind: it would be unmeasured for ever.
func TestBarsNameWhatThereIs(t *testing.T) {
	known := make(map[string]rows.Row)
	for _, row := range rows.All() {
		known[row.Name] = row
	}
	for _, bar := range bars.All {
		row, ok := known[bar.Row]
		require.True(t, ok, "%+v", bar)
		assert.Contains(t, row.Columns, bar.Metric, "%+v", bar)
		for _, name := range bar.Against {
			peer, ok := peers.ByName(name)
			require.True(t, ok, "%+v", bar)
			assert.Empty(t, row.Lacks(peer), "%+v", bar)
		}
	}
	for _, name := range bars.CheckPeers {
		_, ok := peers.ByName(name)
		assert.True(t, ok, name)
	}
}
