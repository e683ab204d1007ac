package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/stats"
)

// bar is one peer in a row's picture.
type bar struct {
	peer   string
	spread stats.Spread
}

// bars are the pictures of the rows that are no part of a sweep.
func bars(r *report.Report) []picture {
	var all []picture
	for _, row := range r.Rows {
		measured := measuredBars(r, row)
		if row.Sweep != "" || len(measured) == 0 {
			continue
		}
		all = append(all, picture{
			name: row.Name, width: vg.Points(640), height: vg.Points(float64(90 + 26*len(measured))),
			draw: func(t theme) (*plot.Plot, error) { return drawBars(t, r, row, measured) },
		})
	}
	return all
}

// measuredBars lists the peers from the bottom of the picture to its top.
func measuredBars(r *report.Report, row *report.Row) []bar {
	var measured []bar
	for _, p := range r.Peers {
		if spread, ok := row.Spread(p.Name, row.Headline); ok {
			measured = append(measured, bar{p.Name, spread})
		}
	}
	slices.Reverse(measured)
	return measured
}

func drawBars(t theme, r *report.Report, row *report.Row, measured []bar) (*plot.Plot, error) {
	p := t.newPlot(row.Title)
	scale, unit := unitOf(row.Headline, most(measured))
	p.X.Label.Text = rows.Metrics[row.Headline].Title + unit
	p.X.Min, p.X.Max = 0, 1.25*most(measured)*scale
	if p.X.Max == 0 {
		p.X.Max = 1
	}
	var names []string
	var labels plotter.XYLabels
	for i, b := range measured {
		names = append(names, b.peer)
		chart, err := plotter.NewBarChart(plotter.Values{b.spread.Median * scale}, vg.Points(15))
		if err != nil {
			return nil, err
		}
		chart.Horizontal, chart.XMin = true, float64(i)
		chart.Color, chart.LineStyle.Width = t.colour(r, b.peer), 0
		whisker, err := plotter.NewLine(plotter.XYs{
			{X: b.spread.Min * scale, Y: float64(i)}, {X: b.spread.Max * scale, Y: float64(i)},
		})
		if err != nil {
			return nil, err
		}
		whisker.Color, whisker.Width = t.text, vg.Points(1)
		p.Add(chart, whisker)
		labels.XYs = append(labels.XYs, plotter.XY{X: b.spread.Max * scale, Y: float64(i)})
		labels.Labels = append(labels.Labels, report.Format(row.Headline, b.spread.Median))
	}
	p.NominalY(names...)
	return p, addLabels(t, p, labels)
}

// addLabels writes the values behind the bars.
func addLabels(t theme, p *plot.Plot, labels plotter.XYLabels) error {
	drawn, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	for i := range drawn.TextStyle {
		drawn.TextStyle[i].Color, drawn.TextStyle[i].Font, drawn.TextStyle[i].YAlign = t.text, small, draw.YCenter
	}
	drawn.Offset.X = vg.Points(5)
	p.Add(drawn)
	return nil
}

func most(measured []bar) float64 {
	top := 0.0
	for _, b := range measured {
		top = math.Max(top, b.spread.Max)
	}
	return top
}

// unitOf is the factor and the name of the unit in which values of that size read well.
func unitOf(metric string, top float64) (scale float64, unit string) {
	switch kind := rows.Metrics[metric].Unit; {
	case kind == rows.Seconds && top < 1e-3:
		return 1e6, ", µs"
	case kind == rows.Seconds && top < 1:
		return 1e3, ", ms"
	case kind == rows.Seconds:
		return 1, ", s"
	case kind == rows.Bytes:
		return 1.0 / 1024, ", KB"
	}
	return 1, ""
}
