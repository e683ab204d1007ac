// Package report is what a run of the benchmarks came to, as a file and as tables.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/rlock-go/rlock/bench/stats"
)

// Report is one run. Its JSON form is the file that plots and documents are made of.
type Report struct {
	When    time.Time `json:"when"`
	Machine string    `json:"machine"`
	Rounds  int       `json:"rounds"`
	Size    string    `json:"size"` // how long the parts of a cell lasted
	Peers   []Peer    `json:"peers"`
	Rows    []*Row    `json:"rows"`
}

// Peer is who was measured.
type Peer struct {
	Name     string `json:"name"`
	Package  string `json:"package"`
	Version  string `json:"version,omitempty"`
	Server   string `json:"server"` // the kind, or once one was started its version
	Settings string `json:"settings"`
}

// Row is what all peers did at one kind of work.
type Row struct {
	Name     string            `json:"name"`
	Title    string            `json:"title"`
	Headline string            `json:"headline"`
	Columns  []string          `json:"columns"`
	Sweep    string            `json:"sweep,omitempty"` // of a scale run: what grows
	X        int               `json:"x,omitempty"`     // and how far it has grown
	Cells    []Cell            `json:"cells"`
	Lacks    map[string]string `json:"lacks"` // why a peer was not measured
}

// Cell is one peer in one round.
type Cell struct {
	Round   int                `json:"round"`
	Peer    string             `json:"peer"`
	Metrics map[string]float64 `json:"metrics,omitempty"` // times in seconds, sizes in bytes
	Error   string             `json:"error,omitempty"`
}

// Row finds a row.
func (r *Report) Row(name string) (*Row, bool) {
	for _, row := range r.Rows {
		if row.Name == name {
			return row, true
		}
	}
	return nil, false
}

// Values are a peer's rounds of one metric; empty if it was not measured.
func (r *Row) Values(peer, metric string) map[int]float64 {
	values := make(map[int]float64)
	for _, cell := range r.Cells {
		if value, ok := cell.Metrics[metric]; ok && cell.Peer == peer {
			values[cell.Round] = value
		}
	}
	return values
}

// Spread sums up a peer's rounds of one metric; false if it was not measured.
func (r *Row) Spread(peer, metric string) (stats.Spread, bool) {
	var values []float64
	for _, value := range r.Values(peer, metric) {
		values = append(values, value)
	}
	return stats.SpreadOf(values)
}

// Ratio is peer's metric ÷ other's, taken within each round; false if the two were not measured in the same round.
func (r *Row) Ratio(peer, other, metric string) (stats.Spread, bool) {
	return stats.SpreadOf(stats.Ratios(r.Values(peer, metric), r.Values(other, metric)))
}

// Why says why there is nothing of a peer in the row: what it lacks, else its first error.
func (r *Row) Why(peer string) string {
	if lack, ok := r.Lacks[peer]; ok {
		return lack
	}
	for _, cell := range r.Cells {
		if cell.Peer == peer && cell.Error != "" {
			return "failed: " + cell.Error
		}
	}
	return "not asked for"
}

// Load reads a report's file.
func Load(path string) (*Report, error) {
	text, err := os.ReadFile(path) //nolint:gosec // what the caller names
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("report: %s: %w", path, err)
	}
	return r, nil
}

// Save writes the report's file.
func (r *Report) Save(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil { //nolint:gosec // for all to read
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
