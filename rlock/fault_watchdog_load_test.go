package rlock_test

// The faults of one watchdog that serves many holds: W11 and W20.

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks promise P5: thousands of locks of one Client on a Redis that from some time on answers only when a lease is all but
// over, beside locks of another Client, and of the same process, on a Redis that is well. Those never have less than a third of
// their lease, and none is lost.
func TestFault_W11_LocksOnASickRedisDelayNoneOnAHealthyOne(t *testing.T) {
	t.Parallel()
	const lease, many, few = 2 * time.Second, 1500, 200
	calmly(t, lease/16, newOwnRig(), func(f *trial, r *rig) {
		sick := r.clientWith(&redis.Options{Addr: r.proxy.Addr()}, rlock.WithWatchdogTimeout(lease), rlock.WithLogger(slog.New(slog.DiscardHandler)))
		sickOnes := r.gather(f, sick, r.key+":sick:", many)
		r.proxy.DelayReplies(lease * 29 / 30)
		healthy := r.newClient(redistest.Shared(t).Addr(), rlock.WithWatchdogTimeout(lease))
		g := r.gather(f, healthy, r.key+":", few)
		assert.Greater(f, g.least(f, redistest.Shared(t).Raw(t), 3*lease/2), lease/3-20*time.Millisecond)
		g.requireHeld(f)
		assert.False(f, sickOnes.holds[many/2].Held(), "the trouble was trouble")
	})
}

// Attacks promise P5: on one Redis, for one Client, the answers about a few of its locks are slow, or break the connection. Those
// locks share their batches with others, which must not share their fate: none of them is lost, or has less than a third of
// its lease.
func TestFault_W11_ASlowRenewalTakesNoOthersWithIt(t *testing.T) {
	t.Parallel()
	const lease, locks = 2400 * time.Millisecond, 300
	for name, trouble := range map[string]func(p *faultproxy.Proxy, m faultproxy.Match){
		"slow": func(p *faultproxy.Proxy, m faultproxy.Match) { p.DelayReplies(lease*29/30, m) },
		"cut":  func(p *faultproxy.Proxy, m faultproxy.Match) { p.CutAfterWrite(faultproxy.Every, m) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calmly(t, lease/16, newOwnRig(), func(f *trial, r *rig) {
				c := r.clientWith(&redis.Options{Addr: r.proxy.Addr()}, rlock.WithWatchdogTimeout(lease), rlock.WithLogger(slog.New(slog.DiscardHandler)))
				g := r.gather(f, c, r.key+":", locks)
				bad := c.NewLock(r.key + ":bad")
				lost, err := bad.Acquire(someone())
				require.NoError(f, err)
				trouble(r.proxy, faultproxy.And(renewScript, faultproxy.Word(bad.Name())))
				assert.Greater(f, g.least(f, r.raw, 5*lease/4), lease/3-20*time.Millisecond)
				g.requireHeld(f)
				assert.False(f, lost.Held(), "the trouble was trouble")
				require.ErrorIs(f, lost.Release(t.Context()), rlock.ErrLost)
			})
		})
	}
}

// Attacks promise P10: a hundred locks are held when the Client is closed, with Redis up, in a black hole, and in one that has
// cost the locks already. Close returns with its context, no goroutine stays, nothing is sent or logged any more, and the log
// has at most one line for each lock. Not parallel, because it counts goroutines.
func TestFault_W20_CloseWithAHundredHoldsEndsThemAll(t *testing.T) {
	const lease, locks = 1500 * time.Millisecond, 100
	for name, harm := range map[string]func(r *rig, holds []*rlock.Hold){
		"up":         func(*rig, []*rlock.Hold) {},
		"black hole": func(r *rig, _ []*rlock.Hold) { r.proxy.BlackHole(true) },
		"lost": func(r *rig, holds []*rlock.Hold) {
			r.proxy.BlackHole(true)
			for _, h := range holds {
				requireEnd(r.t, h.Context())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			closeWithHolds(newRig(t), lease, locks, harm)
		})
	}
}

func closeWithHolds(r *rig, lease time.Duration, locks int, harm func(*rig, []*rlock.Hold)) {
	t := r.t
	t.Helper()
	r.warm()
	lines, before := &logbook{}, goleak.IgnoreCurrent()
	rdb := redis.NewClient(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: answerTime, WriteTimeout: answerTime})
	c, err := rlock.New(rdb, rlock.WithWatchdogTimeout(lease), lines.option())
	require.NoError(t, err)
	defer func() { _ = c.Close(ended()); _ = rdb.Close() }()
	g := r.gather(t, c, r.key+":", locks)
	require.NoError(t, r.proxy.WaitReceived(shortly(t, 10*time.Second), renewScript, locks))
	harm(r, g.holds)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err = inTime(t, 10*time.Second, outcome(func() error { return c.Close(ctx) }), "Close")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, fmt.Sprintf("%d holds not given back", locks))
	r.eventually(func() bool { return ofTheLibrary(true) == "" }, "a goroutine remains, save the one of the rig's own Client")
	sent, logged := r.proxy.Received(renewScript), lines.losses(t)
	assert.LessOrEqual(t, logged, locks)
	for _, h := range g.holds {
		require.Error(t, h.Context().Err())
	}
	r.proxy.Heal()
	r.eventually(func() bool { return len(r.raw.Keys(t.Context(), r.key+":*").Val()) == 0 }, "run out")
	assert.Equal(t, sent, r.proxy.Received(renewScript))
	assert.Equal(t, logged, lines.losses(t))
	for _, h := range g.holds {
		require.Error(t, h.Release(t.Context()))
	}
	r.eventually(func() bool { return lines.losses(t) >= locks }, "whoever gives back now is told of the loss")
	assert.Equal(t, locks, lines.losses(t), "once")
	assert.LessOrEqual(t, len(lines.read(t)), 2*locks, "and a slow machine may have been worth a line when they were taken")
	_ = rdb.Close()
	assert.NoError(t, goleak.Find(before, redistest.IgnoreServers(), ofTheTest(), ofTheProxy()))
}

// Attacks promise P10: a hundred holders give back when their context ends, as they should. Close waits for them, renews them
// until then, and returns nil with every key gone; nothing is left to be logged.
func TestFault_W20_HoldersThatListenAreGoneWhenCloseReturns(t *testing.T) {
	t.Parallel()
	const lease, locks = 1500 * time.Millisecond, 100
	calmly(t, lease/16, newOwnRig(), func(f *trial, r *rig) {
		lines, working := &logbook{}, sync.WaitGroup{}
		c := r.newClient(r.proxy.Addr(), rlock.WithWatchdogTimeout(lease), lines.option())
		for i, h := range r.gather(f, c, r.key+":", locks).holds {
			working.Go(func() {
				<-h.Context().Done()
				passed(time.Duration(i) * 18 * time.Millisecond) // on the way out, for longer than a lease
				assert.ErrorIs(f, context.Cause(h.Context()), rlock.ErrClosed)
				assert.NoError(f, h.Release(context.Background()))
			})
		}
		require.NoError(f, inTime(t, 20*time.Second, outcome(func() error { return c.Close(t.Context()) }), "Close"))
		assert.Empty(f, r.raw.Keys(t.Context(), r.key+":*").Val())
		working.Wait()
		assert.Empty(f, lines.read(t))
	})
}

// losses is how many lines tell of a lost lock.
func (b *logbook) losses(t *testing.T) (n int) {
	t.Helper()
	for _, line := range b.read(t) {
		if line["msg"] == "rlock: lock lost" {
			n++
		}
	}
	return n
}

// gathering is a number of locks that are held.
type gathering struct {
	prefix string
	holds  []*rlock.Hold
}

// gather takes that many locks.
func (r *rig) gather(f require.TestingT, c *rlock.Client, prefix string, n int) *gathering {
	g := &gathering{prefix: prefix, holds: make([]*rlock.Hold, n)}
	require.NoError(f, crowd(16, n, func(i int) (err error) {
		g.holds[i], err = c.NewLock(prefix + strconv.Itoa(i)).Acquire(someone())
		return err
	}))
	return g
}

// leastTTL is the shortest TTL of keys with that prefix and number; the server works it out, so that to ask is cheap.
const leastTTL = `
local least = math.huge
for i = 0, ARGV[2] - 1 do
  least = math.min(least, redis.call('PTTL', ARGV[1] .. i))
end
return least`

// least is the shortest time that any of them has left, in that time from now on.
func (g *gathering) least(f *trial, raw *redis.Client, within time.Duration) time.Duration {
	least := within
	for end := instant() + within; instant() < end; time.Sleep(20 * time.Millisecond) {
		ms, err := raw.Eval(context.Background(), leastTTL, nil, g.prefix, len(g.holds)).Int64()
		require.NoError(f, err)
		least = min(least, time.Duration(ms)*time.Millisecond)
	}
	return least
}

// requireHeld gives them back, too.
func (g *gathering) requireHeld(f *trial) {
	for _, h := range g.holds {
		assert.NoError(f, context.Cause(h.Context()), h)
		assert.True(f, h.Held(), h)
		assert.NoError(f, h.Release(context.Background()))
	}
}
