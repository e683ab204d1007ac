package rlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

func TestConformance_L23_T_CONC1(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	c := clientOf(t, srv)
	n := newTally(t, srv)
	require.NoError(t, crowd(workers, 15, func(int) error { return n.visit(c, 0) }))
	n.requireVisits(15)
	require.NoError(t, c.Close(t.Context()))
}

// The original sleeps 10 ms in each of the 1600 sections; 1 ms leaves as much room for a second visitor.
func TestConformance_L24_T_CONCLOOP(t *testing.T) {
	t.Parallel()
	const clients, loops = 16, 100
	srv := redistest.Shared(t)
	cs := newClients(t, srv, clients)
	n := newTally(t, srv)
	require.NoError(t, crowd(workers, clients, func(i int) error {
		for range loops {
			if err := n.visit(cs[i], time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	}))
	n.requireVisits(clients * loops)
	closeAll(t, cs)
}

func TestConformance_L25_T_CONCMULTI(t *testing.T) {
	t.Parallel()
	const clients = 100
	srv := redistest.Shared(t)
	cs := newClients(t, srv, clients)
	n := newTally(t, srv)
	require.NoError(t, crowd(workers, clients, func(i int) error { return n.visit(cs[i], 0) }))
	n.requireVisits(clients)
	closeAll(t, cs)
}

// 500 tasks for 5000, on fewer connections than there are names. Unlike the original it forgives no time-out.
func TestConformance_L01_T_SUBCAP(t *testing.T) {
	t.Parallel()
	const names, tasks = 5, 500
	srv := redistest.Shared(t)
	c := newClient(t, srv.Client(t, func(o *redis.Options) { o.PoolSize = 2 }))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	require.NoError(t, crowd(32, tasks, func(int) error {
		l := c.NewLock(fmt.Sprintf("%s/lock-%d", t.Name(), rand.IntN(names)))
		if err := l.Lock(ctx); err != nil {
			return err
		}
		time.Sleep(rand.N(20 * time.Millisecond))
		return l.Unlock(ctx)
	}))
	raw := srv.Raw(t)
	eventually(t, func() bool {
		left, err := raw.PubSubChannels(t.Context(), "*"+t.Name()+"*").Result()
		return assert.NoError(t, err) && len(left) == 0
	}, "every subscription is given back")
	requireNothingLeft(t, c)
}

// workers as in the original. A goroutine is one owner at a time, so this is also how many owners there are.
var workers = 2 * max(runtime.NumCPU(), 2)

func newClients(t *testing.T, srv *redistest.Server, n int) []*rlock.Client {
	t.Helper()
	cs := make([]*rlock.Client, n)
	for i := range cs {
		cs[i] = clientOf(t, srv)
	}
	return cs
}

func closeAll(t *testing.T, cs []*rlock.Client) {
	t.Helper()
	for _, c := range cs {
		require.NoError(t, c.Close(t.Context()))
	}
}

// tally counts visits, guarded by nothing but the lock under test. The original's counter is atomic and would count two
// visitors at once correctly. This one has two, each read first and written last: a string in Redis, whose updates are lost
// when sections overlap; and an int, at which the race detector looks besides. To the detector a write to any socket
// happens before a later read from any, so an unlock and the lock that follows it are in order, across clients too; but the
// int is written after the section's last command, so a second visitor inside is no false alarm and is not hidden either.
type tally struct {
	t    *testing.T
	rdb  *redis.Client
	name string
	n    int
}

func newTally(t *testing.T, srv *redistest.Server) *tally {
	t.Helper()
	n := &tally{t: t, rdb: srv.Raw(t), name: t.Name()}
	require.NoError(t, n.rdb.Del(t.Context(), n.name+"/count").Err()) // of an earlier run
	return n
}

func (n *tally) visit(c *rlock.Client, stay time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := c.NewLock(n.name).Lock(ctx); err != nil {
		return err
	}
	if err := n.count(ctx, stay); err != nil {
		return err
	}
	return c.NewLock(n.name).Unlock(ctx) // through another handle
}

func (n *tally) count(ctx context.Context, stay time.Duration) error {
	before := n.n
	stored, err := n.rdb.Get(ctx, n.name+"/count").Int()
	if err != nil && err != redis.Nil { //nolint:errorlint // never wrapped
		return err
	}
	time.Sleep(stay)
	err = n.rdb.Set(ctx, n.name+"/count", stored+1, time.Minute).Err()
	n.n = before + 1
	return err
}

func (n *tally) requireVisits(want int) {
	n.t.Helper()
	stored, err := n.rdb.Get(n.t.Context(), n.name+"/count").Int()
	require.NoError(n.t, err)
	assert.Equal(n.t, want, stored)
	assert.Equal(n.t, want, n.n)
}
