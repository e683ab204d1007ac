package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/servers"
)

// Run is what to measure.
type Run struct {
	Rows     []rows.Row
	Peers    []peers.Peer
	Size     rows.Size
	Rounds   int
	Wanted   func(row, peer string) bool // leaves cells out; nil: none
	Argv     Argv
	Progress io.Writer // gets a line for each cell
}

// Do measures every peer at every row, once in each round. In a round the peers of a row follow each other directly, in an
// order that chance makes anew, so that no peer always has the machine at its coldest, or the one behind it.
func (r Run) Do(ctx context.Context) (*report.Report, error) {
	out := r.blank()
	for round := range r.Rounds {
		for place, row := range r.Rows {
			for _, number := range rand.Perm(len(r.Peers)) {
				if err := ctx.Err(); err != nil {
					return out, err
				}
				r.cell(ctx, out, out.Rows[place], row, r.Peers[number], round)
			}
		}
	}
	return out, nil
}

// blank is the report before anything is measured.
func (r Run) blank() *report.Report {
	out := &report.Report{
		When: time.Now().UTC(), Machine: Machine(), Rounds: r.Rounds,
		Size: fmt.Sprintf("%v (at rest %v, with 100,000 holds %v) after a warm-up of %v",
			r.Size.Work, r.Size.Still, r.Size.Long, r.Size.Warmup),
	}
	for _, p := range r.Peers {
		out.Peers = append(out.Peers, report.Peer{
			Name: p.Name, Package: p.Package, Version: p.Version(), Server: string(p.Store), Settings: p.Settings,
		})
	}
	for _, row := range r.Rows {
		filled := &report.Row{
			Name: row.Name, Title: row.Title, Headline: row.Headline, Columns: row.Columns, Sweep: row.Sweep, X: row.X,
			Lacks: make(map[string]string),
		}
		for _, p := range r.Peers {
			if lack := r.lacks(row, p); lack != "" {
				filled.Lacks[p.Name] = lack
			}
		}
		out.Rows = append(out.Rows, filled)
	}
	return out
}

func (r Run) lacks(row rows.Row, p peers.Peer) string {
	if lack := row.Lacks(p); lack != "" {
		return lack
	}
	if r.Wanted != nil && !r.Wanted(row.Name, p.Name) {
		return "no part of this run"
	}
	return ""
}

// cell measures one and files it, unless the peer lacks what it takes.
func (r Run) cell(ctx context.Context, out *report.Report, filled *report.Row, row rows.Row, p peers.Peer, round int) {
	if filled.Lacks[p.Name] != "" {
		return
	}
	start := time.Now()
	metrics, version, err := measure(ctx, p, row.Plan(r.Size), r.Argv)
	if version != "" {
		place := slices.IndexFunc(out.Peers, func(known report.Peer) bool { return known.Name == p.Name })
		out.Peers[place].Server = version
	}
	if errors.Is(err, servers.ErrMissing) {
		filled.Lacks[p.Name] = err.Error()
		r.say("*** UNMEASURED: %s at %s: %v\n", p.Name, row.Name, err)
		return
	}
	cell := report.Cell{Round: round, Peer: p.Name, Metrics: metrics}
	if err != nil {
		cell.Metrics, cell.Error = nil, err.Error()
		r.say("*** FAILED: %s at %s: %v\n", p.Name, row.Name, err)
	} else {
		headline := "–"
		if value, ok := metrics[row.Headline]; ok {
			headline = report.Format(row.Headline, value)
		}
		r.say("round %d of %d  %-12s %-14s %-12s %5.1f s\n", round+1, r.Rounds, row.Name, p.Name, headline,
			time.Since(start).Seconds())
	}
	filled.Cells = append(filled.Cells, cell)
}

func (r Run) say(format string, args ...any) { _, _ = fmt.Fprintf(r.Progress, format, args...) }
