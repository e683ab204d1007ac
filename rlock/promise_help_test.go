package rlock_test

// What the tests of the promises share: one clock, a measure of how late this machine runs, mishaps, and a look at what
// travels on the wire.

import (
	"context"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

var epoch = time.Now()

// instant is the one monotonic clock of these tests.
func instant() time.Duration { return time.Since(epoch) }

// stalls is how late this machine wakes a goroutine: what an assertion about time may allow for, and no more.
type stalls struct{ worst atomic.Int64 }

func (s *stalls) late() time.Duration { return time.Duration(s.worst.Load()) }

// watchStalls measures until the test ends.
func watchStalls(t *testing.T) *stalls {
	t.Helper()
	const tick = 2 * time.Millisecond
	s, end := &stalls{}, make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for !isOver(end) {
			before := instant()
			time.Sleep(tick)
			s.worst.Store(max(s.worst.Load(), int64(instant()-before-tick)))
		}
	})
	t.Cleanup(func() { close(end); running.Wait() })
	return s
}

func isOver(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}

// clientWith makes a Client on redis options of the test's choice. It is closed with the test.
func (r *rig) clientWith(options *redis.Options, opts ...rlock.Option) *rlock.Client {
	r.t.Helper()
	rdb := redis.NewClient(options)
	c, err := rlock.New(rdb, opts...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		r.proxy.Heal()
		_ = c.Close(ended())
		_ = rdb.Close()
	})
	return c
}

// mine are the fields of that Client under the lock's key.
func (r *rig) mine(c *rlock.Client) map[string]string {
	r.t.Helper()
	all := r.fields()
	maps.DeleteFunc(all, func(field, _ string) bool { return !strings.HasPrefix(field, c.ID()) })
	return all
}

// asleep waits until that many Clients hear the lock's channel, and a moment more for their look after that.
func (r *rig) asleep(clients int64) {
	r.t.Helper()
	channel := rlock.ChannelOf(r.key)
	r.eventually(func() bool {
		return r.raw.PubSubNumSub(context.Background(), channel).Val()[channel] == clients
	}, "subscribed")
	passed(50 * time.Millisecond)
}

// mishaps lets one of the faults strike every few milliseconds until the test calls the result.
func mishaps(every time.Duration, faults ...func()) (end func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for !isOver(over) {
			time.Sleep(rand.N(2 * every))
			faults[rand.N(len(faults))]()
		}
	})
	return func() { close(over); running.Wait() }
}

// record lets the test see each request for this key on its way to the server.
func (r *rig) record(see func(words []string)) {
	key := r.key
	r.proxy.DelayReplies(0, func(words []string) bool {
		if faultproxy.Word(key)(words) {
			see(words)
		}
		return false
	})
}

// ears hear what a redis client is about to send.
type ears struct{ hear func(redis.Cmder) }

func (e ears) DialHook(next redis.DialHook) redis.DialHook { return next }

func (e ears) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		e.hear(cmd)
		return next(ctx, cmd)
	}
}

func (e ears) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			e.hear(cmd)
		}
		return next(ctx, cmds)
	}
}

// outcome runs op elsewhere and gives its error.
func outcome(op func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- op() }()
	return done
}

// inTime takes the error of op, which must come within that time.
func inTime(t *testing.T, within time.Duration, done <-chan error, what string) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		require.FailNow(t, "not in time: "+what)
		return nil
	}
}

// requireEnd waits for the end of a context that ends by a clock.
func requireEnd(t *testing.T, ctx context.Context) {
	t.Helper()
	require.True(t, hasEnded(t, ctx))
}

// hasEnded is requireEnd for goroutines that may not end the test.
func hasEnded(t *testing.T, ctx context.Context) bool {
	t.Helper()
	select {
	case <-ctx.Done():
		return true
	case <-time.After(15 * time.Second):
		return assert.Fail(t, "the context has not ended")
	}
}

// ofTheLibrary is the stack of a goroutine that runs the library's code, on behalf of a caller or its own; empty if there is
// none. The one goroutine that a watchdog keeps while its Client lives does not count if that is said.
func ofTheLibrary(alive bool) string {
	buf := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if alive && strings.Contains(stack, "watchdog.(*Watchdog).run") {
			continue
		}
		for _, room := range []string{"/rlock.(*", "/internal/wire.", "/internal/watchdog.", "/pubsub."} {
			if strings.Contains(stack, "rlock-go/rlock"+room) {
				return stack
			}
		}
	}
	return ""
}
