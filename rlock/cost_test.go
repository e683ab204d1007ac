package rlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/pubsub"
	"github.com/rlock-go/rlock/rlock"
)

// What things cost in commands, connections and memory. The tests about memory run alone.

func TestCostOfAnUncontendedLock(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	c := clientOf(t, srv)
	l := c.NewLock(t.Name())
	require.NoError(t, l.Lock(t.Context())) // connects, and has the scripts loaded
	require.NoError(t, l.Unlock(t.Context()))
	m := watch(t, srv)
	one := []string{"evalsha"}
	for range 3 { // whatever was locked before
		require.NoError(t, l.Lock(t.Context()))
		assert.Equal(t, one, m.commands(), "lock")
		require.NoError(t, l.Lock(t.Context()))
		assert.Equal(t, one, m.commands(), "re-entry")
		_, held := l.Held(t.Context())
		assert.True(t, held)
		assert.Empty(t, m.commands(), "Held")
		require.NoError(t, l.Unlock(t.Context()))
		assert.Equal(t, one, m.commands(), "release of a level")
		_, err := l.TryAcquire(someone())
		require.ErrorIs(t, err, rlock.ErrNotAcquired)
		assert.Equal(t, one, m.commands(), "refusal")
		_, err = l.State(t.Context())
		require.NoError(t, err)
		m.commands()
		require.NoError(t, l.Unlock(t.Context()))
		assert.Equal(t, one, m.commands(), "release")
	}
	require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
	assert.Equal(t, append(one, one...), m.commands(), "Do")
}

// The very first lock on a server sends the text of each script once.
func TestCostOfTheFirstLock(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	l := clientOf(t, srv).NewLock(t.Name())
	m := watch(t, srv)
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
	assert.Equal(t, []string{"evalsha", "eval", "evalsha", "eval"}, m.commands())
}

// Waiters of one process on one lock, while nothing happens: the one in front looks now and then, and the hub asks the
// server for a sign of life.
func TestCostOfWaiting(t *testing.T) {
	t.Parallel()
	const ping, quiet = 400 * time.Millisecond, 3 * time.Second
	for name, look := range map[string]time.Duration{"with the fallback look": 500 * time.Millisecond, "without it": never} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			require.NoError(t, clientOf(t, srv).NewLock(t.Name()).Lock(t.Context()))
			c := clientOf(t, srv, rlock.WithFallbackLook(look), rlock.WithHub(pubsub.Config{Ping: ping}))
			const waiters = 20
			all := waitAll(t, c, waiters, func(ctx context.Context, _ int) error {
				_, err := c.NewLock(t.Name()).Acquire(ctx)
				return err
			})
			m := watch(t, srv)
			eventually(t, func() bool { return c.Leftovers().Channels == 1 }, "subscribed")
			m.settle()
			began := time.Now()
			m.commands()
			time.Sleep(quiet)
			sent, took := m.count(), time.Since(began)
			looks := sent["evalsha"] + sent["eval"]
			assert.LessOrEqual(t, looks, atMost(took, look*4/5), "the jitter is a fifth")
			assert.GreaterOrEqual(t, looks, int(quiet/look)/2, "there are some")
			assert.LessOrEqual(t, sent["ping"], atMost(took, ping))
			assert.Positive(t, sent["ping"])
			assert.Equal(t, looks+sent["ping"], total(sent), "nothing else: %v", sent)
			all.leave(t, waiters)
			requireNothingLeft(t, c)
		})
	}
}

// atMost is how often something can happen in that time that comes no more often than that.
func atMost(took, every time.Duration) int {
	if every > took {
		return 0
	}
	return int(took/every) + 2 // at both ends; a busy machine bunches them
}

// 1,000 waiters on 100 locks: one connection hears for them all and nobody asks. Half of them give up, the others get
// their turn; then nothing of it is left, in the process or on the server.
func TestCostOfAThousandWaiters(t *testing.T) {
	srv := redistest.Start(t)
	raw := srv.Client(t, smallBuffers)
	holder, c := newClient(t, srv.Client(t, smallBuffers)), newClient(t, srv.Client(t, smallBuffers), rlock.WithFallbackLook(never))
	oneEar := oneEarOf(t, srv, raw)
	queueUp(t, raw, holder, c, oneEar) // connections and pools are there after it
	before := measure()
	queueUp(t, raw, holder, c, oneEar)
	requireNotGrown(t, before, 256<<10)
	requireNothingLeft(t, holder)
	assert.Zero(t, raw.DBSize(t.Context()).Val())
	assert.Empty(t, raw.PubSubChannels(t.Context(), "*").Val())
}

// queueUp holds 100 locks while 1,000 wait, then lets them go.
func queueUp(t *testing.T, raw *redis.Client, holder, c *rlock.Client, meanwhile func()) {
	t.Helper()
	const locks, waiters = 100, 1000
	held := make([]*rlock.Hold, locks)
	for i := range held {
		h, err := holder.NewLock(nameOf(t, i)).Acquire(t.Context())
		require.NoError(t, err)
		held[i] = h
	}
	all := waitAll(t, c, waiters, func(impatient context.Context, i int) error {
		ctx := t.Context()
		if i%2 == 0 {
			ctx = impatient
		}
		return c.NewLock(nameOf(t, i/2%locks)).Do(ctx, func(context.Context) error { return nil })
	})
	eventually(t, func() bool { return len(raw.PubSubChannels(t.Context(), "*").Val()) == locks }, "all subscribed")
	meanwhile()
	all.leave(t, waiters/2)
	for _, h := range held {
		require.NoError(t, h.Release(t.Context()))
	}
	for range waiters / 2 {
		require.NoError(t, <-all.done)
	}
	requireNothingLeft(t, c)
}

// oneEarOf makes a check: one connection of the server's hears, and for a second it is asked for nothing but signs of life.
func oneEarOf(t *testing.T, srv *redistest.Server, raw *redis.Client) func() {
	m := watch(t, srv)
	return func() {
		t.Helper()
		m.settle()
		list, err := raw.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(list, "\n"), list)
		m.commands()
		time.Sleep(time.Second)
		sent := m.count()
		assert.Equal(t, sent["ping"], total(sent), "%v", sent)
	}
}

// 10^5 names, each locked once; a fifth of them under the race detector, which makes each five times as dear. What a name
// leaves behind is less than ten bytes of heap, hence nothing.
func TestCostOfNamesThatAreOver(t *testing.T) {
	const atOnce = 32
	names := 100_000
	if underRaceDetector() {
		names = 20_000
	}
	srv := redistest.Start(t)
	raw, c := srv.Client(t, smallBuffers), newClient(t, srv.Client(t, smallBuffers))
	lock := func(i int) error {
		l := c.NewLock(fmt.Sprintf("%s/%d", t.Name(), i))
		if err := l.Lock(context.Background()); err != nil {
			return err
		}
		return l.Unlock(context.Background())
	}
	require.NoError(t, crowd(atOnce, 20*atOnce, lock)) // connections and pools are there after it
	cached := cachedScripts(t, raw)
	before := measure()
	require.NoError(t, crowd(atOnce, names, lock))
	requireNotGrown(t, before, uint64(10*names))
	requireNothingLeft(t, c)
	assert.Zero(t, raw.DBSize(t.Context()).Val())
	assert.Empty(t, raw.PubSubChannels(t.Context(), "*").Val())
	assert.Equal(t, cached, cachedScripts(t, raw))
	require.NoError(t, c.Close(t.Context()))
}
