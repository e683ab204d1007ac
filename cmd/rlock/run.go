package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried, and did not go well
	exitUsage  = 2 // it was not tried: the command line makes no sense
)

const usage = `rlock shows, on your machine, what the locks of rlock do.

  rlock demo [--redis URL]   six short stories about one lock, with what Redis holds beside each step.
                             Without --redis they run on a Redis inside this command; nothing needs installing.
  rlock help                 this text

URL is redis://[[user]:password@]host[:port][/db], rediss://... for TLS, or unix:///path/to/socket.
`

// command is one of the things that rlock can do. args are what follows its name on the command line.
type command func(ctx context.Context, args []string, stdout io.Writer) error

var commands = map[string]command{
	"demo": runDemo,
}

// run is the whole program, apart from the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	switch name := args[0]; name {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	default:
		do, known := commands[name]
		if !known {
			fmt.Fprintf(stderr, "rlock: unknown command %q; rlock help lists them\n", name)
			return exitUsage
		}
		return verdict(do(ctx, args[1:], stdout), name, stdout, stderr)
	}
}

// verdict tells the outcome of a command, in one line on stderr if it went wrong.
func verdict(err error, name string, stdout, stderr io.Writer) int {
	var misuse *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return exitOK
	case errors.As(err, &misuse):
		fmt.Fprintf(stderr, "rlock %s: %v; see rlock help\n", name, err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "rlock %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
		return exitFailed
	}
}

// usageError is a command line that makes no sense.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// parse reads flags, and nothing else, since no command takes other arguments. What was given instead is not repeated: it
// may be a URL with a password.
func parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return &usageError{err.Error()}
	}
	if flags.NArg() > 0 {
		return &usageError{"it takes options only, no further arguments"}
	}
	return nil
}
