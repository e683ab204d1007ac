package peers

import (
	"context"
	"errors"

	"github.com/rlock-go/rlock/rlock"
)

// Ours is the name of the peer that all others are compared with.
const Ours = "rlock"

var rlockPeer = Peer{
	Name:     Ours,
	Package:  "github.com/rlock-go/rlock",
	Settings: "Lock and Unlock by goroutine, watchdog on; " + goRedisSettings,
	Store:    Redis,
	Pushed:   true,
	Renews:   true,
	Commands: Commands{Inside: []string{
		"hget", "hset", "hdel", "hexists", "hincrby", "hkeys", "hgetall", "hlen", "pttl", "pexpire", "exists", "del",
		"publish", "spublish", "time", "type", "get", "set", "incr",
	}},
	Open: openRlock,
}

type rlockClient struct {
	goRedis
	locks *rlock.Client
}

func openRlock(c Config) (Client, error) {
	g := newGoRedis(c)
	locks, err := rlock.New(g.rdb, rlock.WithWatchdogTimeout(c.Lease))
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return &rlockClient{g, locks}, nil
}

// Handle needs no I/O.
func (c *rlockClient) Handle(name string) (Handle, error) {
	return rlockHandle{c.locks.NewLock(name)}, nil
}

// Close does not wait for what is still held.
func (c *rlockClient) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(c.locks.Close(ctx), c.goRedis.Close())
}

type rlockHandle struct{ lock *rlock.Lock }

// Lock waits without a limit.
func (h rlockHandle) Lock(ctx context.Context) error { return h.lock.Lock(ctx) }

// Unlock gives the level back.
func (h rlockHandle) Unlock(ctx context.Context) error { return h.lock.Unlock(ctx) }
