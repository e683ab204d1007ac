package pubsub

import (
	"log/slog"
	"math/rand/v2"
	"time"
)

// Config is what a [Hub] can be told. A duration of zero stands for the default
// named beside it.
type Config struct {
	// Logger is told once when the server refuses a channel and once per
	// outage; it may not be nil. It is called from a goroutine of the hub,
	// without any mutex held.
	Logger *slog.Logger

	// Linger is how long a channel stays subscribed after its last Subscription
	// was closed, since a lock that was fought for once tends to be fought for
	// again, and how long a connection without channels stays open. Default 1
	// s.
	Linger time.Duration

	// Ping is how long the server may be silent before it is asked for a sign
	// of life, and again how long it may take to answer anything before the
	// connection counts as dead. Default 2 s.
	Ping time.Duration

	// Connect is how long a new connection may take from dialling to the first
	// command written, before it is given up in favour of another. Default 5 s.
	Connect time.Duration

	// Retry is how long a refused channel is left alone before the server is
	// asked for it again, as its rights may have been changed meanwhile.
	// Default 10 s.
	Retry time.Duration

	// Backoff is the pause before a connection is replaced.
	Backoff Backoff
}

// Backoff says how long to wait between connections: First after a connection
// that had lasted, then twice as long each time up to Max. Every pause is
// shortened by up to a half at random, so that a thousand processes whose
// server restarts do not all come back at once. Defaults: 50 ms and 1 s.
type Backoff struct {
	First, Max time.Duration
}

func (c Config) withDefaults() Config {
	c.Linger = or(c.Linger, time.Second)
	c.Ping = or(c.Ping, 2*time.Second)
	c.Connect = or(c.Connect, 5*time.Second)
	c.Retry = or(c.Retry, 10*time.Second)
	c.Backoff.First = or(c.Backoff.First, 50*time.Millisecond)
	c.Backoff.Max = or(c.Backoff.Max, time.Second)
	return c
}

// pause is how long to wait after the given number of failures in a row,
// counted from 1.
func (b Backoff) pause(failures int) time.Duration {
	d := b.First
	for i := 1; i < failures && d < b.Max; i++ {
		d *= 2
	}
	d = min(d, b.Max)
	return d - rand.N(d/2+1)
}

func or(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}
