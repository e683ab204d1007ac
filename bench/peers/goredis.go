package peers

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// goRedis is the connection of every peer that is built on go-redis.
type goRedis struct{ rdb *redis.Client }

// newGoRedis opens a pool for the goroutines. They never fail for want of a connection, however long the queue for one.
func newGoRedis(c Config) goRedis {
	return goRedis{redis.NewClient(&redis.Options{
		Addr:        c.Addr,
		PoolSize:    poolSize(c),
		PoolTimeout: time.Minute,
	})}
}

// poolSize is what measured best: more connections than 64 only cost, except that on a long line a connection for each
// command under way is needed to fill it.
func poolSize(c Config) int {
	if c.Distance > 0 {
		return min(max(c.Goroutines, 20), 128)
	}
	return min(max(c.Goroutines, 20), 64)
}

const goRedisSettings = "go-redis with up to 64 connections, 128 at a distance"

// Ping is one round trip.
func (g goRedis) Ping(ctx context.Context) error { return g.rdb.Ping(ctx).Err() }

// Close closes the pool.
func (g goRedis) Close() error { return g.rdb.Close() }
