package bars

import (
	"fmt"
	"strings"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/stats"
)

// Outcome is how a run stands to a bar.
type Outcome string

// The outcomes. Unmeasured is no pass: it says that nobody knows.
const (
	Met        Outcome = "met"
	Near       Outcome = "missed within the tolerance"
	Missed     Outcome = "MISSED"
	Unmeasured Outcome = "unmeasured"
)

// Verdict is the judgement of one bar.
type Verdict struct {
	Bar     Bar
	Outcome Outcome
	Value   stats.Spread // the median counts; against several peers the least favourable
	Peer    string       // which of several peers that was
	Why     string       // unmeasured
}

// Judge judges a run by one bar.
func (b Bar) Judge(r *report.Report) Verdict {
	row, ok := r.Row(b.Row)
	if !ok {
		return Verdict{Bar: b, Outcome: Unmeasured, Why: "the row was not asked for"}
	}
	if len(b.Against) == 0 {
		value, ok := row.Spread(peers.Ours, b.Metric)
		return b.verdict(value, ok, "", row.Why(peers.Ours))
	}
	worst := Verdict{Bar: b, Outcome: Unmeasured}
	for _, peer := range b.Against {
		value, ok := row.Ratio(peers.Ours, peer, b.Metric)
		why := row.Why(peer)
		if len(row.Values(peers.Ours, b.Metric)) == 0 {
			why = peers.Ours + " " + row.Why(peers.Ours)
		}
		v := b.verdict(value, ok, peer, why)
		if worst.Peer == "" || b.worse(v, worst) {
			worst = v
		}
	}
	return worst
}

func (b Bar) verdict(value stats.Spread, measured bool, peer, why string) Verdict {
	v := Verdict{Bar: b, Value: value, Peer: peer}
	switch {
	case !measured:
		v.Outcome, v.Why = Unmeasured, why
	case b.meets(value.Median, 0):
		v.Outcome = Met
	case b.meets(value.Median, Tolerance):
		v.Outcome = Near
	default:
		v.Outcome = Missed
	}
	return v
}

func (b Bar) meets(value, tolerance float64) bool {
	if b.Sense == AtLeast {
		return value >= b.Limit*(1-tolerance)
	}
	return value <= b.Limit*(1+tolerance)
}

// worse says whether v is less favourable than other. What was measured counts before what was not.
func (b Bar) worse(v, other Verdict) bool {
	if v.Outcome == Unmeasured || other.Outcome == Unmeasured {
		return v.Outcome != Unmeasured && other.Outcome == Unmeasured
	}
	if b.Sense == AtLeast {
		return v.Value.Median < other.Value.Median
	}
	return v.Value.Median > other.Value.Median
}

// Demand is the bar in words.
func (b Bar) Demand() string {
	title := rows.Metrics[b.Metric].Title
	if len(b.Against) == 0 {
		return fmt.Sprintf("%s %s %s", title, b.Sense, report.Format(b.Metric, b.Limit))
	}
	return fmt.Sprintf("%s %s %v × %s", title, b.Sense, b.Limit, strings.Join(b.Against, ", "))
}

// Found is what was measured, in words.
func (v *Verdict) Found() string {
	switch {
	case v.Outcome == Unmeasured:
		return v.Why
	case v.Peer == "":
		return report.FormatSpread(v.Bar.Metric, v.Value)
	case len(v.Bar.Against) == 1:
		return report.FormatRatio(v.Value)
	}
	return report.FormatRatio(v.Value) + " of " + v.Peer
}

// JudgeAll judges a run by all bars, or by those of the short check.
func JudgeAll(r *report.Report, short bool) []Verdict {
	var verdicts []Verdict
	for _, bar := range All {
		if !short || !bar.Aside {
			verdicts = append(verdicts, bar.Judge(r))
		}
	}
	return verdicts
}

// Table shows verdicts.
func Table(verdicts []Verdict) report.Table {
	t := report.Table{{"row", "bar", "rlock", "verdict"}}
	for i := range verdicts {
		v := &verdicts[i]
		t = append(t, []string{v.Bar.Row, v.Bar.Demand(), strings.ReplaceAll(v.Found(), "|", "/"), string(v.Outcome)})
	}
	return t
}

// MissedOf lists the verdicts that fail a check.
func MissedOf(verdicts []Verdict) []Verdict {
	var missed []Verdict
	for i := range verdicts {
		if verdicts[i].Outcome == Missed {
			missed = append(missed, verdicts[i])
		}
	}
	return missed
}
