package rlock_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// P1 to P11, however the caller's redis client is set up: nothing that rlock promises hangs on its options.
func TestOutage_AnyOptionsOfRedis_TheSameLife(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *redis.Options){
		"go-redis' own":               func(o *redis.Options) { *o = redis.Options{Addr: o.Addr} },
		"protocol 2, no identity":     func(o *redis.Options) { o.Protocol, o.DisableIdentity, o.MaxRetries = 2, true, -1 },
		"protocol 3, a name, retries": func(o *redis.Options) { o.Protocol, o.ClientName, o.MaxRetries = 3, "app", 10 },
		"one connection":              func(o *redis.Options) { o.PoolSize, o.ContextTimeoutEnabled = 1, true },
		"one at most, without a wait": func(o *redis.Options) { o.PoolSize, o.MaxActiveConns, o.PoolTimeout = 1, 1, time.Millisecond },
		"impatient": func(o *redis.Options) {
			o.ReadTimeout, o.WriteTimeout, o.PoolSize = 50*time.Millisecond, 50*time.Millisecond, 2
		},
		"idle connections, writes without end": func(o *redis.Options) { o.MinIdleConns, o.PoolFIFO, o.WriteTimeout = 5, true, -1 },
		"short-lived connections":              func(o *redis.Options) { o.ConnMaxLifetime, o.ConnMaxIdleTime = time.Millisecond, time.Millisecond },
		"a breaker that trips":                 func(o *redis.Options) { o.Limiter = &breaker{} },
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); newOutageRig(t, nil).live(change) })
	}
}

// P1 to P11, over TLS, where a connection that the server has closed is not noticed before it is used.
func TestOutage_TLS_TheSameLife(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *redis.Options){
		"plain":          func(*redis.Options) {},
		"one connection": func(o *redis.Options) { o.PoolSize = 1 },
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); newOutageRig(t, []redistest.Option{redistest.TLS()}).live(change) })
	}
}

// P2: replies are lost on the way. go-redis resends what it thinks may be resent, as often as it was told; a script is sent
// once by it, and again only by rlock.
func TestOutage_AnyMaxRetries_AScriptIsResentByRlockAlone(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{-1, 0, 3, 10} {
		t.Run(strconv.Itoa(retries), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.warm()
			c := r.clientWith(&redis.Options{
				Addr: r.proxy.Addr(), MaxRetries: retries, MaxRetryBackoff: time.Millisecond,
				ReadTimeout: answerTime, WriteTimeout: answerTime,
			})
			l, ctx := c.NewLock(r.key), someone()
			mine := faultproxy.Word(r.key)
			for _, fault := range []func(int, faultproxy.Match){r.proxy.CutAfterWrite, r.proxy.DropReply} {
				fault(1, faultproxy.And(acquireScript, mine))
				require.NoError(t, l.Lock(ctx))
				assert.Equal(t, 1, levelsIn(t, r.raw, r.key))
				fault(1, faultproxy.And(acquireScript, mine))
				require.NoError(t, l.Lock(ctx))
				assert.Equal(t, 2, levelsIn(t, r.raw, r.key))
				fault(1, faultproxy.And(releaseScript, mine))
				require.NoError(t, l.Unlock(ctx))
				assert.Equal(t, 1, levelsIn(t, r.raw, r.key))
				require.NoError(t, l.Unlock(ctx))
				assert.Zero(t, levelsIn(t, r.raw, r.key))
			}
			require.Equal(t, 8, r.proxy.Seen(faultproxy.And(acquireScript, mine)), "one repetition for each that was lost")
		})
	}
}

// live tells the life of a Client: every verb works, all at once; a hold is renewed; waiters are woken by the message, one after
// the other; a loss is told; Close waits for the holder, fails the waiters, and leaves nothing.
func (r *outageRig) live(change func(o *redis.Options)) {
	t := r.t
	t.Helper()
	const lease = 3 * time.Second
	r.client = r.clientOf(change, rlock.WithWatchdogTimeout(lease), rlock.WithFallbackLook(time.Minute))
	r.lock = r.client.NewLock(r.key)
	verbs := r.verbs()
	for name, answer := range useAll(verbs) {
		require.NoError(t, (<-answer).err, name)
		r.assertCount(name, verbs[name])
		require.NoError(t, verbs[name].undo(), name)
	}
	r.renewsAndWakes(lease)
	lost, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
	requireEnd(t, lost.Context())
	require.ErrorIs(t, context.Cause(lost.Context()), rlock.ErrLost)
	requireLoss(t, lost.Release(t.Context()))
	r.closes()
}

func (r *outageRig) renewsAndWakes(lease time.Duration) {
	t := r.t
	t.Helper()
	holder := someone()
	require.NoError(t, r.lock.Lock(holder))
	h, err := r.lock.Acquire(holder)
	require.NoError(t, err)
	waiters := make([]<-chan error, 3)
	for i := range waiters {
		l := r.lock
		if i == 0 {
			l = r.rival
		}
		waiters[i] = outcome(func() error { return l.Do(someone(), func(context.Context) error { return nil }) })
	}
	r.asleep(2)
	valid := h.ValidUntil()
	r.eventually(func() bool { return h.ValidUntil().Sub(valid) > lease/2 }, "renewed twice")
	require.NoError(t, h.Context().Err())
	require.NoError(t, h.Release(holder))
	require.NoError(t, r.lock.Unlock(holder))
	for _, waiter := range waiters {
		require.NoError(t, inTime(t, 10*time.Second, waiter, "woken"))
	}
}

func (r *outageRig) closes() {
	t := r.t
	t.Helper()
	holder := someone()
	require.NoError(t, r.lock.Lock(holder))
	waiter := outcome(func() error { return r.lock.Lock(someone()) })
	r.asleep(1)
	closing := outcome(func() error { return r.client.Close(t.Context()) })
	require.ErrorIs(t, inTime(t, 10*time.Second, waiter, "the waiter"), rlock.ErrClosed)
	assert.Equal(t, 1, levelsIn(t, r.raw, r.key), "not pulled from under the holder")
	require.NoError(t, r.lock.Unlock(holder))
	require.NoError(t, inTime(t, 20*time.Second, closing, "Close"))
	assert.Zero(t, r.client.Leftovers())
	assert.Zero(t, levelsIn(t, r.raw, r.key))
	r.asleep(0)
}

// breaker is a caller's Limiter that lets four of five commands pass.
type breaker struct{ n atomic.Int32 }

func (b *breaker) Allow() error {
	if b.n.Add(1)%5 == 0 {
		return errors.New("the breaker is open")
	}
	return nil
}

func (b *breaker) ReportResult(error) {}
