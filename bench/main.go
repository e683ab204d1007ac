// Command bench measures rlock beside its peers. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/servers"
)

const usage = `usage: bench COMMAND [flags]

  run     measures every row and prints the tables and how they stand to the bars
  check   a short run; fails when a bar is missed by more than its tolerance
  scale   cost over the number of goroutines, names and waiters
  plots   draws what run and scale wrote
`

// commands are the subcommands, and those under which this program starts itself.
var commands = map[string]func(context.Context, []string) error{
	"run":                runAll,
	"check":              check,
	"scale":              scaleAll,
	"plots":              drawPlots,
	cellCommand:          playCell,
	servers.EtcdCommand:  servers.ServeEtcd,
	servers.DelayCommand: func(_ context.Context, words []string) error { return servers.ServeDelay(words) },
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := commands[os.Args[1]](ctx, os.Args[2:])
	stop()
	if err != nil {
		if !errors.Is(err, errToldAlready) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

// errToldAlready ends the program in failure when all has been said.
var errToldAlready = errors.New("told already")

const cellCommand = "cell"

// playCell is one process of a cell.
func playCell(_ context.Context, words []string) error {
	spec, err := cells.ParseSpec(words)
	if err != nil {
		return err
	}
	work, err := rows.Work(spec.Work)
	if err != nil {
		return err
	}
	return cells.Play(spec, work, os.Stdin, os.Stdout)
}
