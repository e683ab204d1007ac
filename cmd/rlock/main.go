// Command rlock is for people who want to see, use or mend rlock's locks without writing a program.
//
//	rlock demo                see what rlock does, on a machine with nothing but this command
//	rlock demo --redis URL    the same on a Redis of yours
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
