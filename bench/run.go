package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rlock-go/rlock/bench/bars"
	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/runner"
	"github.com/rlock-go/rlock/bench/servers"
)

// settings are the flags of run, check and scale.
type settings struct {
	all         []rows.Row // from which rows chooses
	rows, peers string
	size        rows.Size
	rounds      int
	json        string
	wanted      func(row, peer string) bool
}

// full is a run whose numbers may be shown.
var full = settings{
	all: rows.All(), rounds: 5, json: "../docs/performance/results.json",
	size: rows.Size{Warmup: time.Second, Work: 3 * time.Second, Still: 10 * time.Second, Long: 40 * time.Second},
}

// short is a run that finds what has become slow.
var short = settings{
	all: rows.All(), rounds: 3, peers: strings.Join(bars.CheckPeers, ","), wanted: bars.Wants,
	size: rows.Size{Warmup: 400 * time.Millisecond, Work: 700 * time.Millisecond, Still: 5 * time.Second, Long: 12 * time.Second},
}

// parse reads the flags over the given settings.
func (s settings) parse(name string, words []string) (settings, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar(&s.rows, "rows", s.rows, "rows, separated by commas; all without")
	flags.StringVar(&s.peers, "peers", s.peers, "peers, separated by commas; all without")
	flags.IntVar(&s.rounds, "rounds", s.rounds, "how often everything is measured")
	flags.DurationVar(&s.size.Warmup, "warmup", s.size.Warmup, "of each process")
	flags.DurationVar(&s.size.Work, "work", s.size.Work, "how long the work is measured")
	flags.DurationVar(&s.size.Still, "still", s.size.Still, "how long waiters and holds at rest are measured")
	flags.DurationVar(&s.size.Long, "long", s.size.Long, "how long 100,000 holds are; a lease of 30 s and more shows every renewal")
	flags.StringVar(&s.json, "json", s.json, "file for the results")
	err := flags.Parse(words)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("what is %q?", flags.Args())
	}
	return s, err
}

// plan finds the rows and peers by their names.
func (s settings) plan() (runner.Run, error) {
	chosenRows, err := choose(s.rows, s.all, func(r rows.Row) string { return r.Name })
	if err != nil {
		return runner.Run{}, err
	}
	chosenPeers, err := choose(s.peers, peers.All(), func(p peers.Peer) string { return p.Name })
	if err != nil {
		return runner.Run{}, err
	}
	return runner.Run{
		Rows: chosenRows, Peers: chosenPeers, Size: s.size, Rounds: s.rounds, Wanted: s.wanted, Argv: argv,
		Progress: os.Stderr,
	}, nil
}

// choose picks the things whose names are listed; all of them for an empty list.
func choose[T any](list string, all []T, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	var chosen []T
	for word := range strings.SplitSeq(list, ",") {
		place := slices.IndexFunc(all, func(thing T) bool { return name(thing) == word })
		if place < 0 {
			var names []string
			for _, thing := range all {
				names = append(names, name(thing))
			}
			return nil, fmt.Errorf("no %q among %s", word, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[place])
	}
	return chosen, nil
}

// argv starts a process of a peer's cell: this program again, or the Java cell.
func argv(p peers.Peer) ([]string, error) {
	if !p.Java {
		self, err := os.Executable()
		return []string{self, cellCommand}, err
	}
	dir := filepath.Join(servers.JavaDir(), "redisson")
	java, err := exec.LookPath("java")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "classes", "Cell.class"))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; see java/prepare.sh", servers.ErrMissing, err)
	}
	classes := filepath.Join(dir, "classes") + string(os.PathListSeparator) + filepath.Join(dir, "lib", "*")
	return []string{java, "-cp", classes, "Cell"}, nil
}

// measure runs what s asks for, prints the tables and saves the results.
func (s settings) measure(ctx context.Context) (*report.Report, error) {
	run, err := s.plan()
	if err != nil {
		return nil, err
	}
	result, err := run.Do(ctx)
	if err != nil {
		return nil, err
	}
	result.WriteTables(os.Stdout)
	err = s.save(result)
	return result, err
}

// save writes the results, if a file was named.
func (s settings) save(r *report.Report) error {
	if s.json == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.json), 0o755); err != nil { //nolint:gosec // for all to read
		return err
	}
	return r.Save(s.json)
}

// runAll is the subcommand run.
func runAll(ctx context.Context, words []string) error {
	s, err := full.parse("run", words)
	if err != nil {
		return err
	}
	result, err := s.measure(ctx)
	if err != nil {
		return err
	}
	printVerdicts(result, false)
	return failures(result)
}

// check is the subcommand check.
func check(ctx context.Context, words []string) error {
	s, err := short.parse("check", words)
	if err != nil {
		return err
	}
	result, err := s.measure(ctx)
	if err != nil {
		return err
	}
	missed := bars.MissedOf(printVerdicts(result, true))
	for i := range missed {
		v := &missed[i]
		fmt.Fprintf(os.Stderr, "*** MISSED: %s: %s, found %s\n", v.Bar.Row, v.Bar.Demand(), v.Found())
	}
	if err := failures(result); err != nil {
		return err
	}
	if len(missed) > 0 {
		return errToldAlready
	}
	return nil
}

func printVerdicts(r *report.Report, short bool) []bars.Verdict {
	verdicts := bars.JudgeAll(r, short)
	fmt.Printf("\n### The bars\n\n")
	bars.Table(verdicts).Write(os.Stdout)
	return verdicts
}

// failures tells of cells that went wrong: a table with holes is no result.
func failures(r *report.Report) error {
	all := r.Failures()
	for _, failure := range all {
		fmt.Fprintln(os.Stderr, "*** FAILED:", failure)
	}
	if len(all) > 0 {
		return errToldAlready
	}
	return nil
}
