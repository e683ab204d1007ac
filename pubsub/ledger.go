package pubsub

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// verb is what a request asks of the server.
type verb string

// The first two are also the words by which the server confirms them.
const (
	subscribe   verb = "subscribe"
	unsubscribe verb = "unsubscribe"
	ping        verb = "ping"
)

// batch is how many channels go into one command: few commands for many
// channels, while a refused one costs no more than so many repetitions.
const batch = 500

// errOutOfStep ends a session whose answers do not fit its requests. It happens
// when go-redis moves a PubSub to another connection by itself, as on a
// maintenance notification, and resubscribes there: what was missed meanwhile
// nobody knows.
var errOutOfStep = errors.New("answers out of step with requests")

// request is one command on its way.
type request struct {
	verb     verb
	names    []string   // the writer's: what to send
	channels []*channel // the ledger's: those without an answer yet
}

// send hands the request to go-redis, which connects if it has not yet.
func (r *request) send(ctx context.Context, ps *redis.PubSub) error {
	switch r.verb {
	case subscribe:
		return ps.Subscribe(ctx, r.names...)
	case unsubscribe:
		return ps.Unsubscribe(ctx, r.names...)
	default:
		return ps.Ping(ctx)
	}
}

// ledger keeps the requests of a session whose answers are outstanding, oldest
// first. An error reply does not say what it is about; only its place in the
// order does.
type ledger struct {
	open []*request
}

func (l *ledger) add(r *request) {
	l.open = append(l.open, r)
}

func (l *ledger) empty() bool {
	return len(l.open) == 0
}

// confirm books the server's confirmation for one channel.
func (l *ledger) confirm(kind, name string) (*channel, error) {
	if l.empty() || string(l.open[0].verb) != kind {
		return nil, fmt.Errorf("%w: unexpected %s", errOutOfStep, kind)
	}
	r := l.open[0]
	i := slices.IndexFunc(r.channels, func(c *channel) bool { return c.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: unexpected channel %q", errOutOfStep, name)
	}
	c := r.channels[i]
	if i == 0 { // the usual case: servers confirm in the order of the arguments
		r.channels = r.channels[1:]
	} else {
		r.channels = slices.Delete(r.channels, i, i+1)
	}
	if len(r.channels) == 0 {
		l.shift()
	}
	return c, nil
}

// pong books the answer to a ping.
func (l *ledger) pong() error {
	if l.empty() || l.open[0].verb != ping {
		return fmt.Errorf("%w: unexpected pong", errOutOfStep)
	}
	l.shift()
	return nil
}

// refuse books an error reply to the oldest request and returns that.
func (l *ledger) refuse(err error) (*request, error) {
	if l.empty() {
		return nil, fmt.Errorf("%w: unexpected error: %w", errOutOfStep, err)
	}
	return l.shift(), nil
}

func (l *ledger) shift() *request {
	r := l.open[0]
	l.open[0] = nil
	l.open = l.open[1:]
	return r
}
