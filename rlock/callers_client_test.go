package rlock_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// The redis client is the caller's: its hooks may hang, it may be closed at any time, and it may be of any kind.

// Attacks promise P8: a release hangs in a hook of the redis client, a tracer or a rate limiter, and so does the first that is
// sent in the background. The lock is free long before its lease ends all the same.
func TestP8_AReleaseThatHangsInAHookIsSentAgain(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), ReadTimeout: answerTime})
	defer func() { _ = rdb.Close() }()
	var hang atomic.Int64
	heal := make(chan struct{})
	rdb.AddHook(ears{func(redis.Cmder) {
		if hang.Add(-1) >= 0 {
			<-heal
		}
	}})
	c, err := rlock.New(rdb, quietly, rlock.WithRetryBudget(0))
	require.NoError(t, err)
	defer func() { _ = c.Close(ended()) }()
	defer close(heal)
	h, err := c.NewLock(t.Name()).Acquire(someone())
	require.NoError(t, err)
	hang.Store(2)
	require.Error(t, h.Release(t.Context()))
	eventually(t, func() bool { return levelsIn(t, srv.Raw(t), t.Name()) == 0 }, "it is free")
}

// Attacks promise P8: a command for another lock hangs in a hook, and with it all pipelines that there may be. A give-back that
// would be a hand-over takes the retry budget and one time-out as any other, and not one for the hand-over and one more.
func TestP8_AHandOverThatIsNeverSentIsBounded(t *testing.T) {
	t.Parallel()
	const answer = 500 * time.Millisecond
	late := watchStalls(t)
	rdb := redis.NewClient(&redis.Options{Addr: redistest.Shared(t).Addr(), ReadTimeout: answer, PoolSize: 2}) // one pipeline
	defer func() { _ = rdb.Close() }()
	other := t.Name() + ":other"
	heal, hangs := make(chan struct{}), make(chan struct{})
	hang := sync.OnceFunc(func() { close(hangs) })
	rdb.AddHook(ears{func(cmd redis.Cmder) {
		if slices.Contains(cmd.Args(), any(other)) {
			hang()
			<-heal
		}
	}})
	c, err := rlock.New(rdb, quietly, rlock.WithRetryBudget(0))
	require.NoError(t, err)
	defer func() { _ = c.Close(ended()) }()
	defer close(heal)
	l, ann := c.NewLock(t.Name()), someone()
	bob, giveUp := context.WithCancel(someone())
	defer giveUp()
	require.NoError(t, l.Lock(ann))
	outcome(func() error { return l.Lock(bob) })
	eventually(t, func() bool { return c.HasParked(t.Name()) }, "he waits")
	outcome(func() error { return c.NewLock(other).Lock(bob) })
	<-hangs
	began := instant()
	require.Error(t, l.Unlock(ann))
	assert.Less(t, instant()-began, answer+answer/2+4*late.late())
}

// Attacks promises P4 and P10: the redis client is closed under everything. The holder is told at its deadline, the waiter why it
// waits no longer, and Close ends.
func TestP4_TheRedisClientIsClosedUnderAHold(t *testing.T) {
	t.Parallel()
	const timeout = 600 * time.Millisecond
	late := watchStalls(t)
	rdb := redis.NewClient(&redis.Options{Addr: redistest.Shared(t).Addr(), ReadTimeout: answerTime})
	c, err := rlock.New(rdb, quietly, rlock.WithWatchdogTimeout(timeout))
	require.NoError(t, err)
	l := c.NewLock(t.Name())
	h, err := l.Acquire(someone())
	require.NoError(t, err)
	ctx := h.Context()
	waiter := outcome(func() error { return l.Lock(someone()) })
	eventually(t, func() bool { return c.HasParked(t.Name()) }, "it waits")
	require.NoError(t, rdb.Close())
	began := time.Now()
	requireEnd(t, ctx)
	assert.Less(t, time.Since(began), timeout+late.late())
	require.ErrorIs(t, context.Cause(ctx), rlock.ErrLost)
	require.ErrorIs(t, promptly(t, waiter), redis.ErrClosed)
	require.ErrorIs(t, h.Release(t.Context()), rlock.ErrLost)
	assert.NoError(t, c.Close(shortly(t, soonEnough)))
}

// Attacks promises P3 and P6: an AutoPipeliner serves as any other redis client does, be it blocking or asynchronous, also when
// the server has forgotten the scripts.
func TestP6_OnAnAutoPipelinerAHoldIsRenewed(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	for name, pipe := range map[string]func(*redis.Client) (*redis.AutoPipeliner, error){
		"blocking":     (*redis.Client).AutoPipeline,
		"asynchronous": (*redis.Client).AsyncAutoPipeline,
		"full duplex": func(rdb *redis.Client) (*redis.AutoPipeliner, error) {
			options := *redis.DefaultAutoPipelineOptions()
			options.FullDuplex, options.Unordered, options.MaxConcurrentBatches = true, false, 1
			return rdb.AsyncAutoPipelineWithOptions(&options)
		},
	} {
		t.Run(name, func(t *testing.T) {
			const timeout = 600 * time.Millisecond
			rdb := srv.Client(t)
			piped, err := pipe(rdb)
			require.NoError(t, err)
			defer func() { _ = piped.Close() }()
			require.NoError(t, rdb.ScriptFlush(t.Context()).Err())
			c := newClient(t, piped, quietly, rlock.WithRetryBudget(time.Second), rlock.WithWatchdogTimeout(timeout))
			l := c.NewLock(t.Name())
			ctx, began := shortly(t, 20*time.Second), time.Now()
			outer, err := l.Acquire(ctx)
			require.NoError(t, err)
			eventually(t, func() bool { return outer.ValidUntil().After(began.Add(2 * timeout)) }, "renewed again and again")
			inner, err := l.Acquire(outer.Context())
			require.NoError(t, err)
			assert.Equal(t, 2, levelsIn(t, rdb, t.Name()))
			require.NoError(t, inner.Release(ctx))
			require.NoError(t, outer.Release(ctx))
			assert.Zero(t, levelsIn(t, rdb, t.Name()))
		})
	}
}
