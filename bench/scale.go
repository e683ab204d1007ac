package main

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/rows"
)

// growing is a run of the sweeps.
var growing = settings{
	rounds: 3, json: "../docs/performance/scale.json", all: rows.Scale(),
	peers: peers.Ours + "," + peers.BareScripts + ",redislock 5ms,rueidislock,Redisson",
	size:  rows.Size{Warmup: 500 * time.Millisecond, Work: time.Second},
}

// scaleAll is the subcommand scale.
func scaleAll(ctx context.Context, words []string) error {
	s, err := growing.parse("scale", words)
	if err != nil {
		return err
	}
	result, err := s.measure(ctx)
	if err != nil {
		return err
	}
	return failures(result)
}
