package plots_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/plots"
	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
)

// sample has a row, and a sweep of two steps, of which one peer lacks the second.
func sample() *report.Report {
	r := &report.Report{
		Peers: []report.Peer{{Name: "rlock"}, {Name: "another"}, {Name: "absent"}},
		Rows:  []*report.Row{{Name: "hot16", Title: "a hot lock", Headline: rows.PerSecond}},
	}
	for x := 1; x <= 10; x *= 10 {
		r.Rows = append(r.Rows, &report.Row{Name: "waiters", Headline: rows.PerSecond, Sweep: rows.Waiters, X: x})
	}
	for number, row := range r.Rows {
		for round := range 3 {
			metrics := map[string]float64{
				rows.PerSecond: float64(1000 * (round + 1)), rows.ClientCPU: 1e-6, rows.ServerCPU: 0,
			}
			row.Cells = append(row.Cells, report.Cell{Round: round, Peer: "rlock", Metrics: metrics})
			if number < 2 {
				row.Cells = append(row.Cells, report.Cell{Round: round, Peer: "another", Metrics: metrics})
			}
		}
	}
	return r
}

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, plots.Draw(sample(), dir))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, files, 2*(1+2), "a row, and the costs of the sweep that are known, each light and dark")
	for _, name := range []string{"hot16-light.svg", "hot16-dark.svg"} {
		svg, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Contains(t, string(svg), ">another<")
		assert.Contains(t, string(svg), ">2,000<", "the median")
		assert.NotContains(t, string(svg), "absent")
	}
	svg, err := os.ReadFile(filepath.Join(dir, "scale-waiters-time-dark.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(svg), ">rlock<")
	assert.NotContains(t, string(svg), "fill:#-", "a colour that is none")
}

// TestDrawZeros draws what came to nothing: a peer that sends no command has no bar, and is there all the same.
func TestDrawZeros(t *testing.T) {
	r := sample()
	for _, row := range r.Rows {
		for _, cell := range row.Cells {
			clear(cell.Metrics)
			cell.Metrics[rows.PerSecond] = 0
		}
	}
	require.NoError(t, plots.Draw(r, t.TempDir()))
}
