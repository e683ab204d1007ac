package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/rlock-go/rlock/bench/bars"
	"github.com/rlock-go/rlock/bench/plots"
	"github.com/rlock-go/rlock/bench/report"
)

// drawPlots is the subcommand plots: it draws the files of run and scale, as far as there are such, and puts the tables of
// the run into the document.
func drawPlots(_ context.Context, words []string) error {
	flags := flag.NewFlagSet("plots", flag.ContinueOnError)
	results := flags.String("json", full.json, "what run wrote")
	sweeps := flags.String("scale", growing.json, "what scale wrote")
	dir := flags.String("dir", "../docs/performance", "where the pictures go")
	page := flags.String("page", "../docs/performance.md", "the document whose tables are replaced")
	if err := flags.Parse(words); err != nil {
		return err
	}
	drawn := 0
	for _, path := range []string{*results, *sweeps} {
		r, err := report.Load(path)
		if errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "*** %s is not there: nothing is drawn of it\n", path)
			continue
		}
		if err != nil {
			return err
		}
		if err := plots.Draw(r, *dir); err != nil {
			return err
		}
		if err := fillIn(*page, path == *results, r); err != nil {
			return err
		}
		drawn++
	}
	if drawn == 0 {
		return errors.New("there is nothing to draw: make bench first")
	}
	return nil
}

// fillIn replaces the tables of the document: of the run with its verdicts, or of the sweeps.
func fillIn(page string, run bool, r *report.Report) error {
	if !run {
		return report.FillIn(page, "scale", r.WriteTables)
	}
	if err := report.FillIn(page, "tables", r.WriteTables); err != nil {
		return err
	}
	return report.FillIn(page, "bars", bars.Table(bars.JudgeAll(r, false)).Write)
}
