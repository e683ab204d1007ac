package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/rows"
)

// Table is lines of equal length; the first is the head.
type Table [][]string

// Write prints the table as Markdown whose columns stand below each other.
func (t Table) Write(w io.Writer) {
	widths := make([]int, len(t[0]))
	for _, line := range t {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for number, line := range t {
		writeLine(w, line, widths, " ")
		if number == 0 {
			writeLine(w, make([]string, len(line)), widths, "-")
		}
	}
}

func writeLine(w io.Writer, line []string, widths []int, fill string) {
	var b strings.Builder
	for i, text := range line {
		b.WriteString("| " + text + strings.Repeat(fill, widths[i]-utf8.RuneCountInString(text)) + " ")
	}
	_, _ = fmt.Fprintln(w, b.String()+"|")
}

// WriteTables prints who was measured, and a table for each row.
func (r *Report) WriteTables(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%s; %s; %d rounds of %s. "+
		"Median (least–most) of the rounds; rlock ÷ peer is taken within each round.\n\n",
		r.When.Format("2006-01-02"), r.Machine, r.Rounds, r.Size)
	r.peerTable().Write(w)
	for _, row := range r.Rows {
		_, _ = fmt.Fprintf(w, "\n### %s\n\n", row.Title)
		r.rowTable(row).Write(w)
	}
	_, _ = fmt.Fprintln(w)
	r.writeNotes(w)
}

func (r *Report) peerTable() Table {
	t := Table{{"peer", "package", "server", "settings"}}
	for _, p := range r.Peers {
		t = append(t, []string{p.Name, strings.TrimSpace(p.Package + " " + p.Version), p.Server, p.Settings})
	}
	return t
}

// rowTable shows the headline in full, then how rlock compares, then the medians of the rest.
func (r *Report) rowTable(row *Row) Table {
	rest := slices.DeleteFunc(slices.Clone(row.Columns), func(metric string) bool { return metric == row.Headline })
	head := []string{"peer", rows.Metrics[row.Headline].Title, "rlock ÷ peer"}
	for _, metric := range rest {
		head = append(head, rows.Metrics[metric].Title)
	}
	t := Table{head}
	for _, p := range r.Peers {
		t = append(t, row.line(p.Name, rest))
	}
	return t
}

func (r *Row) line(peer string, rest []string) []string {
	line := []string{peer, "", ""}
	headline, ok := r.Spread(peer, r.Headline)
	if ok {
		line[1] = FormatSpread(r.Headline, headline)
	} else if !r.measured(peer) {
		line[1] = "unmeasured: " + brief(r.Why(peer))
	}
	if ratio, ok := r.Ratio(peers.Ours, peer, r.Headline); ok && peer != peers.Ours {
		line[2] = FormatRatio(ratio)
	}
	for _, metric := range rest {
		text := ""
		if spread, ok := r.Spread(peer, metric); ok {
			text = Format(metric, spread.Median)
		}
		line = append(line, text)
	}
	return line
}

// measured says whether at least one round of the peer went well.
func (r *Row) measured(peer string) bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Peer == peer && len(c.Metrics) > 0 })
}

// brief keeps a table's cell on its line.
func brief(text string) string {
	const most = 60
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
	if utf8.RuneCountInString(text) > most {
		return string([]rune(text)[:most]) + "…"
	}
	return text
}

// writeNotes says what the columns mean.
func (r *Report) writeNotes(w io.Writer) {
	seen := make(map[string]bool)
	for _, row := range r.Rows {
		for _, metric := range row.Columns {
			if m := rows.Metrics[metric]; !seen[m.Title] {
				seen[m.Title] = true
				_, _ = fmt.Fprintf(w, "- **%s**: %s\n", m.Title, m.Note)
			}
		}
	}
}

// Failures lists the cells that went wrong.
func (r *Report) Failures() []string {
	var failures []string
	for _, row := range r.Rows {
		for _, cell := range row.Cells {
			if cell.Error != "" {
				failures = append(failures, fmt.Sprintf("%s, %s, round %d: %s", row.Name, cell.Peer, cell.Round, cell.Error))
			}
		}
	}
	return failures
}
