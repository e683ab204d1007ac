package peers

import (
	"context"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

var redsyncPeer = Peer{
	Name:     "redsync",
	Package:  "github.com/go-redsync/redsync/v4",
	Settings: "one pool, its own pause of 50–250 ms between tries, tries without end; " + goRedisSettings,
	Store:    Redis,
	Commands: Commands{Inside: []string{"get", "del", "pexpire"}}, // SET it sends
	Open:     openRedsync,
}

type redsyncClient struct {
	goRedis
	locks *redsync.Redsync
	lease time.Duration
}

func openRedsync(c Config) (Client, error) {
	g := newGoRedis(c)
	return &redsyncClient{g, redsync.New(goredis.NewPool(g.rdb)), c.Lease}, nil
}

// Handle needs no I/O. A Mutex of redsync is one goroutine's.
func (c *redsyncClient) Handle(name string) (Handle, error) {
	mutex := c.locks.NewMutex(name, redsync.WithExpiry(c.lease), redsync.WithTries(math.MaxInt))
	return redsyncHandle{mutex}, nil
}

type redsyncHandle struct{ mutex *redsync.Mutex }

// Lock waits without a limit.
func (h redsyncHandle) Lock(ctx context.Context) error { return h.mutex.LockContext(ctx) }

// Unlock gives it back.
func (h redsyncHandle) Unlock(ctx context.Context) error {
	_, err := h.mutex.UnlockContext(ctx)
	return err
}
