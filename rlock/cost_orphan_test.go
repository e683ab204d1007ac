package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// An acquire is granted after its caller gave up; before it is given back, another owner of the process takes the lock,
// for which the given up field counts as free. The grant is known by then and the field is gone, so there is nothing to
// settle any more: the Client forgets it, well before the lease of 30 s is over.
func TestCostOfAnOrphanThatWasTakenOver(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy, raw := faultproxy.New(t, srv.Addr()), srv.Raw(t)
	c := newClient(t, srv.Client(t, func(o *redis.Options) { o.Addr = proxy.Addr() }))
	l := c.NewLock(t.Name())
	assertLocked(t, l, false) // connected

	release := faultproxy.Word(rlock.ChannelOf(t.Name()))
	proxy.HoldRequest(300*time.Millisecond, 1, faultproxy.And(faultproxy.Word(t.Name()), faultproxy.Not(release)))
	proxy.HoldRequest(2*time.Second, 1, release)
	ctx, cancel := context.WithTimeout(someone(), 50*time.Millisecond)
	defer cancel()
	_, err := l.TryAcquire(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	eventually(t, func() bool { return raw.Exists(t.Context(), t.Name()).Val() == 1 }, "granted late")

	h, err := l.TryAcquire(someone())
	require.NoError(t, err, "nobody waits for the process' own orphan")
	require.NoError(t, h.Release(t.Context()))
	requireNothingLeft(t, c)
}
