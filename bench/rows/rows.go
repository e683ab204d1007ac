// Package rows is what is measured: a file for each row of the table, with the plan of its processes and the work that one
// of them does.
package rows

import (
	"fmt"
	"time"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
)

// Row is one line of the design's table of costs: one kind of work that every peer does.
type Row struct {
	Name     string                    // on command lines and in files
	Title    string                    // for people
	Headline string                    // the metric of which ratios are shown
	Columns  []string                  // the metrics of the row's table
	Lacks    func(p peers.Peer) string // why a peer cannot be measured here; "" if it can
	Plan     func(Size) Plan

	Sweep string // of a scale run: what grows
	X     int    // and how far it has grown
}

// Size is how long the parts of a run last.
type Size struct {
	Warmup time.Duration
	Work   time.Duration // of rows in which all are busy
	Still  time.Duration // of rows in which nothing happens, and that little is measured
	Long   time.Duration // of the row in which every one of very many holds is to be renewed
}

// Plan is how a cell of a row is laid out.
type Plan struct {
	Processes []cells.Spec  // all but what the run adds: peer, address, prefix, number. They get ready one after the other
	Distance  time.Duration // by how much a round trip is longer, through a proxy that delays
	Probe     bool          // measures how long other commands take meanwhile
	Renewals  bool          // watches how late renewals come
	Keys      int           // how many keys must be there at the end; 0: not looked at
}

// All are the rows in the order of the tables.
func All() []Row {
	return []Row{
		uncontendedRow, distinct64Row, distinct512Row, distantRow, hotRow, processesRow, waitersRow, held10kRow, held100kRow,
	}
}

// works are the kinds of work by name, which the Java cell knows as well.
var works = map[string]cells.Work{
	uncontendedWork: uncontended,
	distinctWork:    distinct,
	hotWork:         hot,
	waitersWork:     waiters,
	heldWork:        held,
}

// Work finds the work of that name.
func Work(name string) (cells.Work, error) {
	work, ok := works[name]
	if !ok {
		return nil, fmt.Errorf("rows: no work %q", name)
	}
	return work, nil
}

// lease is what holds live for where the row does not say otherwise: Redisson's default.
const lease = 30 * time.Second

// open opens the client of the process's peer.
func open(s *cells.Stage, contended bool) (peers.Client, error) {
	p, ok := peers.ByName(s.Spec.Peer)
	if !ok || p.Open == nil {
		return nil, fmt.Errorf("rows: no peer %q in this program", s.Spec.Peer)
	}
	return p.Open(peers.Config{
		Addr: s.Spec.Addr, Goroutines: s.Spec.Goroutines, Contended: contended,
		Distance: s.Spec.Distance, Lease: s.Spec.Lease,
	})
}

// anybody can be measured.
func anybody(peers.Peer) string { return "" }

// whoWaits leaves out what knows no waiting.
func whoWaits(p peers.Peer) string {
	if p.Name == peers.BareScripts {
		return "does not wait"
	}
	return ""
}

// whoRenews leaves out what does not keep holds alive by itself.
func whoRenews(p peers.Peer) string {
	if !p.Renews {
		return "does not renew"
	}
	return ""
}

// alone leaves out all but rlock.
func alone(p peers.Peer) string {
	if p.Name != peers.Ours {
		return "rlock alone"
	}
	return ""
}
