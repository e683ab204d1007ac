package rlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// names of locks, with what stands in Redis for them.
var wireNames = []struct{ prefix, name, key, channel string }{
	{"", "order", "order", "redisson_lock__channel:{order}"},
	{"", "order:42:line:7", "order:42:line:7", "redisson_lock__channel:{order:42:line:7}"},
	{"", "{shop}:order", "{shop}:order", "redisson_lock__channel:{shop}:order"},
	{"", "order:{shop}:42", "order:{shop}:42", "redisson_lock__channel:order:{shop}:42"},
	{"", "a}b", "a}b", "redisson_lock__channel:{a}b}"},
	{"", "a{b", "a{b", "redisson_lock__channel:a{b"},
	{"", "{}", "{}", "redisson_lock__channel:{}"},
	{"", "größe 鍵 🔒", "größe 鍵 🔒", "redisson_lock__channel:{größe 鍵 🔒}"},
	{"", " \t\r\n\x00\xff*?", " \t\r\n\x00\xff*?", "redisson_lock__channel:{ \t\r\n\x00\xff*?}"},
	{"app:", "order", "app:order", "redisson_lock__channel:{app:order}"},
	{"{app}:", "order", "{app}:order", "redisson_lock__channel:{app}:order"},
	{"app:", "{shop}", "app:{shop}", "redisson_lock__channel:app:{shop}"},
}

func TestWireKeyFieldCountExpiryAndChannel(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	for _, row := range wireNames {
		t.Run(row.prefix+row.name, func(t *testing.T) {
			c := clientOf(t, srv, rlock.WithKeyPrefix(row.prefix))
			l := c.NewLock(row.name)
			heard := hear(t, raw, row.channel)
			began := time.Now()
			require.NoError(t, l.Lock(t.Context()))
			field := c.ID() + ":" + ownerid.Goroutine().String() + "~1"
			assertWire(t, raw, row.key, field, "1")
			assertLease(t, 30*time.Second, began, raw.PTTL(t.Context(), row.key).Val())

			require.NoError(t, l.Lock(t.Context()))
			assertWire(t, raw, row.key, field, "2")
			require.NoError(t, l.Unlock(t.Context()))
			assertWire(t, raw, row.key, field, "1")
			assert.Empty(t, heard(), "there is a level left")
			require.NoError(t, l.Unlock(t.Context()))
			assert.Equal(t, []string{"0"}, heard())
			assert.Empty(t, raw.Keys(t.Context(), "*").Val())
			assert.Equal(t, row.name, l.Name())
		})
	}
}

// A field is used for one hold only; owners that were made look different from goroutines.
func TestWireFieldsAreNeverUsedAgain(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, c := srv.Raw(t), clientOf(t, srv, rlock.WithName("shop-7.eu_1"))
	l := c.NewLock(t.Name())
	id := ownerid.New()
	require.Regexp(t, `^shop-7\.eu_1-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, c.ID())
	require.Regexp(t, `^c\d+$`, id.String())
	for _, n := range []string{"1", "2", "3"} {
		require.NoError(t, l.Lock(ownerid.NewContext(t.Context(), id)))
		assertWire(t, raw, t.Name(), c.ID()+":"+id.String()+"~"+n, "1")
		require.NoError(t, l.Unlock(ownerid.NewContext(t.Context(), id)))
	}
	assert.NotEqual(t, clientOf(t, srv, rlock.WithName("shop")).ID(), clientOf(t, srv, rlock.WithName("shop")).ID())
	assert.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, clientOf(t, srv).ID())
}

func TestWireLeaseIsTheTTL(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, l := srv.Raw(t), clientOf(t, srv, rlock.WithWatchdogTimeout(40*time.Second)).NewLock(t.Name())
	for _, row := range []struct {
		opts []rlock.AcquireOption
		want time.Duration
	}{
		{nil, 40 * time.Second},
		{[]rlock.AcquireOption{rlock.Lease(10 * time.Second)}, 10 * time.Second},
		{[]rlock.AcquireOption{rlock.Lease(time.Hour + time.Millisecond)}, time.Hour + time.Millisecond},
		{[]rlock.AcquireOption{rlock.MaxHold(20 * time.Second)}, 20 * time.Second},
		{[]rlock.AcquireOption{rlock.MaxHold(time.Hour)}, 40 * time.Second},
	} {
		began := time.Now()
		require.NoError(t, l.Lock(t.Context(), row.opts...))
		assertLease(t, row.want, began, raw.PTTL(t.Context(), t.Name()).Val())
		require.NoError(t, l.Unlock(t.Context()))
	}
}

// No command shortens the TTL: neither a shorter level within a longer one, nor its release.
func TestWireTTLIsNeverShortened(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, l := srv.Raw(t), clientOf(t, srv).NewLock(t.Name())
	ttl := func() time.Duration { return raw.PTTL(t.Context(), t.Name()).Val() }
	began := time.Now()
	require.NoError(t, l.Lock(t.Context(), rlock.Lease(time.Hour)))
	require.NoError(t, l.Lock(t.Context(), rlock.Lease(time.Second)))
	assertLease(t, time.Hour, began, ttl())
	require.NoError(t, l.Lock(t.Context()))
	assertLease(t, time.Hour, began, ttl())
	for range 2 {
		require.NoError(t, l.Unlock(t.Context()))
		assertLease(t, time.Hour, began, ttl())
	}
	require.NoError(t, l.Unlock(t.Context()))
}

// Whatever is done with a lock, the server never sees another key than the lock's own: no marker of an unlock above all.
func TestWireNoOtherKeyEver(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.Config("notify-keyspace-events", "KA"))
	raw := srv.Raw(t)
	keys := hearKeys(t, raw)
	c := clientOf(t, srv, rlock.WithWatchdogTimeout(time.Second))
	l := c.NewLock(t.Name())
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Lock(t.Context(), rlock.Lease(time.Minute)))
	waited := make(chan error)
	go func() {
		h, err := l.Acquire(someone(), rlock.Lease(300*time.Millisecond))
		if err == nil {
			<-h.Context().Done()
			err = h.Release(t.Context())
		}
		waited <- err
	}()
	_, err := l.TryAcquire(someone(), rlock.Wait(500*time.Millisecond))
	require.ErrorIs(t, err, rlock.ErrNotAcquired)
	require.NoError(t, l.Unlock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
	requireLoss(t, <-waited) // its lease ran out
	require.NoError(t, l.Lock(t.Context()))
	_, err = l.ForceUnlock(t.Context())
	require.NoError(t, err)
	requireLoss(t, l.Unlock(t.Context()))
	requireNothingLeft(t, c)
	seen := keys()
	assert.Equal(t, map[string]bool{t.Name(): true}, seen)
}

func assertWire(t *testing.T, raw *redis.Client, key, field, count string) {
	t.Helper()
	ctx := t.Context()
	assert.Equal(t, []string{key}, raw.Keys(ctx, glob(key)).Val())
	assert.Equal(t, "hash", raw.Type(ctx, key).Val())
	assert.Equal(t, map[string]string{field: count}, raw.HGetAll(ctx, key).Val())
}

// glob matches the key itself, and everything that has it in its name.
func glob(key string) string {
	return "*" + strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(key) + "*"
}
