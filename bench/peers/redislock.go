package peers

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

var redislockPeer = Peer{
	Name:     "redislock",
	Package:  "github.com/bsm/redislock",
	Settings: "LinearBackoff(100 ms), as in its examples, for by default it does not wait; " + goRedisSettings,
	Store:    Redis,
	Commands: Commands{Inside: []string{"get", "getrange", "set", "del", "pttl", "pexpire"}},
	Open:     func(c Config) (Client, error) { return openRedislock(c, 100*time.Millisecond), nil },
}

var redislockFastPeer = Peer{
	Name:     "redislock 5ms",
	Package:  redislockPeer.Package,
	Settings: "LinearBackoff(5 ms): the waiter pays with commands; " + goRedisSettings,
	Store:    Redis,
	Commands: redislockPeer.Commands,
	Open:     func(c Config) (Client, error) { return openRedislock(c, 5*time.Millisecond), nil },
}

type redislockClient struct {
	goRedis
	locker *redislock.Client
	lease  time.Duration
	opt    *redislock.Options
}

func openRedislock(c Config, backoff time.Duration) Client {
	g := newGoRedis(c)
	opt := &redislock.Options{RetryStrategy: redislock.LinearBackoff(backoff)}
	return &redislockClient{g, redislock.New(g.rdb), c.Lease, opt}
}

// Handle needs no I/O.
func (c *redislockClient) Handle(name string) (Handle, error) {
	return &redislockHandle{client: c, name: name}, nil
}

type redislockHandle struct {
	client *redislockClient
	name   string
	held   *redislock.Lock
}

// Lock waits for an hour: without a deadline redislock would wait no longer than the lease.
func (h *redislockHandle) Lock(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	h.held, err = h.client.locker.Obtain(ctx, h.name, h.client.lease, h.client.opt)
	return err
}

// Unlock releases what Lock obtained.
func (h *redislockHandle) Unlock(ctx context.Context) error { return h.held.Release(ctx) }
