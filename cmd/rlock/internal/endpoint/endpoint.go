// Package endpoint opens the Redis that a user of the command named.
//
// Its errors are lines to be read by people: they say what was tried and what came of it, and never contain a password,
// which is why they are not those of the URL parser, which likes to quote what it was given.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Endpoint is a Redis that has answered. The client in it is the Endpoint's to close.
type Endpoint struct {
	*redis.Client
}

// patience is how long a server has to answer the first time, from the look-up of its name on.
const patience = 3 * time.Second

// Open connects to the Redis at that URL. It returns within a few seconds whatever the server or the network does.
func Open(ctx context.Context, rawURL string) (*Endpoint, error) {
	options, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	redis.SetLogger(silence{}) // it would say everything twice
	rdb := redis.NewClient(options)
	if err := ping(ctx, rdb); err != nil {
		_ = rdb.Close()
		return nil, fmt.Errorf("cannot talk to Redis at %s: %w", options.Addr, err)
	}
	return &Endpoint{rdb}, nil
}

var (
	errURL    = errors.New("the URL makes no sense; it looks like redis://[[user]:password@]host[:port][/db]")
	errScheme = errors.New("the URL has to begin with redis://, rediss:// or unix://")
)

func parse(rawURL string) (*redis.Options, error) {
	if u, err := url.Parse(rawURL); err == nil && u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix" {
		return nil, errScheme
	}
	options, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, errURL
	}
	options.DialTimeout, options.DialerRetries = patience, 1
	options.ReadTimeout, options.WriteTimeout = patience, patience
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return options, nil
}

var errNoAnswer = fmt.Errorf("no answer within %v", patience)

// ping asks for a sign of life. It does not wait for go-redis, which may try longer, nor for a name server.
func ping(ctx context.Context, rdb *redis.Client) error {
	answer := make(chan error, 1)
	go func() { answer <- rdb.Ping(ctx).Err() }()
	select {
	case err := <-answer:
		return plain(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(patience):
		return errNoAnswer
	}
}

// silence is a logger for go-redis that says nothing.
type silence struct{}

// Printf says nothing.
func (silence) Printf(context.Context, string, ...any) {}
