package main

import (
	"context"
	"flag"
	"io"

	"github.com/rlock-go/rlock/cmd/rlock/internal/demo"
	"github.com/rlock-go/rlock/cmd/rlock/internal/endpoint"
)

// runDemo tells the story on the Redis of --redis, else on an embedded one.
func runDemo(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	url := flags.String("redis", "", "")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *url == "" {
		if isSet(flags, "redis") {
			return &usageError{"--redis is empty"}
		}
		return demo.Embedded(ctx, stdout)
	}
	target, err := endpoint.Open(ctx, *url)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	return demo.On(ctx, stdout, target.Client)
}

// isSet reports whether the option was given at all: an empty variable in a script is not the same as none.
func isSet(flags *flag.FlagSet, name string) bool {
	found := false
	flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}
