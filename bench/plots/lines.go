package plots

import (
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
)

// lines are the pictures of the sweeps: what one operation costs in time, and in processor time at either end.
func lines(r *report.Report) []picture {
	titles := map[string]string{
		rows.Goroutines: "goroutines, a lock each",
		rows.Names:      "names of locks, 64 goroutines",
		rows.Waiters:    "waiters for one lock",
	}
	var all []picture
	for _, sweep := range []string{rows.Goroutines, rows.Names, rows.Waiters} {
		for _, cost := range costs {
			if !slices.ContainsFunc(r.Peers, func(p report.Peer) bool { return len(pointsOf(r, sweep, p.Name, cost)) > 0 }) {
				continue
			}
			all = append(all, picture{
				name: "scale-" + sweep + "-" + cost.name, width: vg.Points(640), height: vg.Points(380),
				draw: func(t theme) (*plot.Plot, error) { return drawLines(t, r, sweep, titles[sweep], cost) },
			})
		}
	}
	return all
}

// cost is one way to count what an operation costs, in microseconds.
type cost struct {
	name, title string
	metric      string
	of          func(float64) float64
}

var costs = []cost{
	{"time", "time for one acquisition, µs", rows.PerSecond, func(rate float64) float64 { return 1e6 / rate }},
	{"client", "processor time of the client for one acquisition, µs", rows.ClientCPU, micros},
	{"server", "processor time of the server for one acquisition, µs", rows.ServerCPU, micros},
}

func micros(seconds float64) float64 { return 1e6 * seconds }

func drawLines(t theme, r *report.Report, sweep, title string, c cost) (*plot.Plot, error) {
	p := t.newPlot(c.title)
	p.X.Label.Text = title
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(xTicks(r, sweep)), plot.LogTicks{Prec: -1}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = t.grid, t.grid
	p.Add(grid)
	p.Legend.Top = true
	for _, peer := range r.Peers {
		points := pointsOf(r, sweep, peer.Name, c)
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = t.colour(r, peer.Name), vg.Points(1.2)
		if peer.Name == peers.Ours {
			line.Width = vg.Points(2.5)
		}
		marks.Color = line.Color
		p.Add(line, marks)
		p.Legend.Add(peer.Name, line)
	}
	spread(&p.X)
	spread(&p.Y)
	p.X.Max *= 3 // room for the legend
	return p, nil
}

// spread widens an axis on which all is at one place, which a logarithmic one could not show.
func spread(axis *plot.Axis) {
	if axis.Min == axis.Max {
		axis.Min, axis.Max = axis.Min/2, axis.Max*2
	}
}

func pointsOf(r *report.Report, sweep, peer string, c cost) plotter.XYs {
	var points plotter.XYs
	for _, row := range r.Rows {
		if row.Sweep != sweep {
			continue
		}
		if value, ok := row.Spread(peer, c.metric); ok && value.Median > 0 {
			points = append(points, plotter.XY{X: float64(row.X), Y: c.of(value.Median)})
		}
	}
	return points
}

// xTicks marks the places that were measured.
func xTicks(r *report.Report, sweep string) []plot.Tick {
	var ticks []plot.Tick
	for _, row := range r.Rows {
		if row.Sweep == sweep {
			ticks = append(ticks, plot.Tick{Value: float64(row.X), Label: strconv.Itoa(row.X)})
		}
	}
	return ticks
}
