package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/stats"
)

func TestFormat(t *testing.T) {
	cases := []struct {
		metric string
		value  float64
		want   string
	}{
		{rows.PerSecond, 1234567.4, "1,234,567"},
		{rows.PerSecond, 999, "999"},
		{rows.PerSecond, 12.34, "12.3"},
		{rows.Commands, 2.0349, "2.03"},
		{rows.ClientCores, 0.00123, "0.0012"},
		{rows.ClientCores, 0, "0.00"},
		{rows.WaitP99, 0.0312, "31.2 ms"},
		{rows.WaitP99, 2.5, "2.50 s"},
		{rows.PairP50, 31.25e-6, "31.2 µs"},
		{rows.PairP50, 0, "0.00 s"},
		{rows.HeapPerWaiter, 2048, "2.00 KB"},
		{rows.HeapPerWaiter, 211, "211 B"},
		{rows.HeapPerWaiter, -2048, "-2.00 KB"},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, report.Format(c.metric, c.value), "%s %v", c.metric, c.value)
	}
	assert.Equal(t, "2.00 × (1.50–3.00)", report.FormatRatio(stats.Spread{Median: 2, Min: 1.5, Max: 3}))
}

// sample is rlock at twice the speed of the one peer that was measured, and the reasons why two others were not.
func sample() *report.Report {
	row := &report.Row{
		Name: "row", Title: "a row", Headline: rows.PerSecond, Columns: []string{rows.PerSecond, rows.Commands},
		Lacks: map[string]string{"absent": "not on this machine"},
	}
	for round, speed := range []float64{1, 10, 5} {
		row.Cells = append(row.Cells,
			report.Cell{Round: round, Peer: "rlock", Metrics: map[string]float64{rows.PerSecond: 200 * speed, rows.Commands: 2}},
			report.Cell{Round: round, Peer: "peer", Metrics: map[string]float64{rows.PerSecond: 100 * speed, rows.Commands: 4}},
			report.Cell{Round: round, Peer: "broken", Error: "no\nluck"},
		)
	}
	r := &report.Report{Rounds: 3, Machine: "a machine", Rows: []*report.Row{row}}
	for _, name := range []string{"rlock", "peer", "broken", "absent"} {
		r.Peers = append(r.Peers, report.Peer{Name: name})
	}
	return r
}

func TestTables(t *testing.T) {
	var out bytes.Buffer
	sample().WriteTables(&out)
	lines := strings.Split(out.String(), "\n")
	assert.Contains(t, lines, "| peer   | 500 (100–1,000)                 | 2.00 ×       | 4.00     |")
	assert.Contains(t, lines, "| broken | unmeasured: failed: no luck     |              |          |")
	assert.Contains(t, lines, "| absent | unmeasured: not on this machine |              |          |")
	assert.Len(t, sample().Failures(), 3)
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	require.NoError(t, sample().Save(path))
	got, err := report.Load(path)
	require.NoError(t, err)
	assert.Equal(t, sample(), got)
	_, err = report.Load(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestFillIn(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	before := "# Title\n<!-- tables -->\nold\n<!-- end of tables -->\nrest\n"
	require.NoError(t, os.WriteFile(page, []byte(before), 0o600))
	write := func(text string) error {
		return report.FillIn(page, "tables", report.Table{{text}}.Write)
	}
	require.NoError(t, write("first"))
	require.NoError(t, write("new"))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, "# Title\n<!-- tables -->\n\n| new |\n| --- |\n\n<!-- end of tables -->\nrest\n", string(text))
	assert.ErrorContains(t, report.FillIn(page, "scale", sample().WriteTables), `no place for "scale"`)
}
