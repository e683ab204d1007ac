// Package plots draws what was measured: a picture for each row and each sweep, in SVG, for a light and a dark page.
package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/report"
)

// theme is the colours for one kind of page.
type theme struct {
	name       string
	background color.Color
	text, grid color.Color
	ours       color.Color // rlock stands out
	others     []color.Color
}

var themes = []theme{
	{
		name: "light", background: hex(0xffffff), text: hex(0x1f2328), grid: hex(0xd8dee4), ours: hex(0xc2410c),
		others: []color.Color{
			hex(0x0969da), hex(0x1a7f37), hex(0x8250df), hex(0x9a6700), hex(0x0f766e), hex(0x57606a), hex(0xbf3989), hex(0x4d7c0f),
			hex(0x374151),
		},
	},
	{
		name: "dark", background: hex(0x0d1117), text: hex(0xe6edf3), grid: hex(0x3d444d), ours: hex(0xfb923c),
		others: []color.Color{
			hex(0x58a6ff), hex(0x3fb950), hex(0xbc8cff), hex(0xd29922), hex(0x2dd4bf), hex(0x9198a1), hex(0xf778ba), hex(0xa3e635),
			hex(0xd1d5db),
		},
	},
}

func hex(rgb uint32) color.Color {
	return color.NRGBA{R: uint8(rgb >> 16), G: uint8(rgb >> 8), B: uint8(rgb), A: 0xff} //nolint:gosec // its bytes
}

// colour is that of a peer, the same in every picture of a report.
func (t theme) colour(r *report.Report, peer string) color.Color {
	number := 0
	for _, p := range r.Peers {
		switch {
		case p.Name == peer && peer == peers.Ours:
			return t.ours
		case p.Name == peer:
			return t.others[number%len(t.others)]
		case p.Name != peers.Ours:
			number++
		}
	}
	return t.text
}

// newPlot is an empty picture in the theme's colours.
func (t theme) newPlot(title string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = t.background
	p.Title.Text = title
	p.Title.Padding = vg.Points(6)
	p.Title.TextStyle.Color = t.text
	p.Title.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(13)}
	p.Legend.TextStyle.Color = t.text
	p.Legend.TextStyle.Font = small
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color = t.text
		axis.Label.TextStyle.Color = t.text
		axis.Label.TextStyle.Font = small
		axis.Tick.Color = t.text
		axis.Tick.Label.Color = t.text
		axis.Tick.Label.Font = small
	}
	return p
}

var small = font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(10)}

// picture is one drawing, before it has a theme.
type picture struct {
	name          string
	width, height vg.Length
	draw          func(theme) (*plot.Plot, error)
}

// Draw draws everything that the report holds into dir: bars for its rows, lines for its sweeps.
func Draw(r *report.Report, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for all to read
		return fmt.Errorf("plots: %w", err)
	}
	for _, p := range append(bars(r), lines(r)...) {
		for _, t := range themes {
			drawn, err := p.draw(t)
			if err != nil {
				return fmt.Errorf("plots: %s: %w", p.name, err)
			}
			path := filepath.Join(dir, p.name+"-"+t.name+".svg")
			if err := p.save(drawn, path); err != nil {
				return fmt.Errorf("plots: %w", err)
			}
		}
	}
	return nil
}

// save writes the picture so that it looks alike where the font is missing.
func (p picture) save(drawn *plot.Plot, path string) error {
	writer, err := drawn.WriterTo(p.width, p.height, "svg")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := writer.WriteTo(&text); err != nil {
		return err
	}
	const family = "font-family:Liberation Sans"
	svg := bytes.ReplaceAll(text.Bytes(), []byte(family), []byte(family+",Arial,sans-serif"))
	return os.WriteFile(path, svg, 0o644) //nolint:gosec // for all to read
}
