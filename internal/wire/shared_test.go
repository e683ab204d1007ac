package wire_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/clock"
	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

func TestShared_OneScriptsErrorIsThatScriptsAlone(t *testing.T) {
	srv := redistest.Shared(t)
	require.NoError(t, srv.Raw(t).Set(t.Context(), t.Name()+"text", "x", time.Minute).Err())
	s := newSharing(t, srv, nil)
	makeKnown(t, srv)
	replies := s.sendTogether(t, take(t, "first"), take(t, "text"), take(t, "third"))
	assert.Equal(t, []int{3}, s.pipelines())
	requireGranted(t, replies[0])
	requireGranted(t, replies[2])
	assert.Equal(t, wire.Refused, replies[1].Outcome)
	require.ErrorContains(t, replies[1].Err, "WRONGTYPE")
	assert.False(t, replies[1].Retry)
	assert.Zero(t, s.Outage(t.Name()+"first"), "no outage either, of nobody")
}

// The replies that came before the cut stand. What became of the rest is unknown, and none of them is sent again.
func TestShared_ACutInTheMiddle(t *testing.T) {
	srv := redistest.Shared(t)
	proxy := faultproxy.New(t, srv.Addr())
	s := newSharing(t, srv, func(o *redis.Options) { o.Addr, o.MaxRetries = proxy.Addr(), 5 })
	makeKnown(t, srv)
	second := faultproxy.Word(t.Name() + "second")
	proxy.HoldRequest(300*time.Millisecond, 1, second) // time for the first reply to arrive
	proxy.CutAfterWrite(1, second)
	replies := s.sendTogether(t, take(t, "first"), take(t, "second"), take(t, "third"))
	assert.Equal(t, []int{3}, s.pipelines())
	requireGranted(t, replies[0])
	for _, r := range replies[1:] {
		assert.Equal(t, wire.Unknown, r.Outcome)
		assert.True(t, r.Retry)
		require.Error(t, r.Err)
	}
	assert.Equal(t, "1", srv.Raw(t).HGet(t.Context(), t.Name()+"second", "f").Val(), "it ran")
	assert.Equal(t, 1, proxy.Seen(second))
	assert.LessOrEqual(t, proxy.Seen(faultproxy.Word(t.Name()+"third")), 1)
	assert.Zero(t, s.Outage(t.Name()+"first"))
	require.Error(t, s.Outage(t.Name()+"second").Err)
	require.Error(t, s.Outage(t.Name()+"third").Err)

	again := s.Send(t.Context(), take(t, "fourth"))
	<-again.Done()
	requireGranted(t, again.Reply())
}

// A hook that fails a pipeline as a whole fails everyone in it, whether or not it says so to each.
func TestShared_AHookFailsThePipeline(t *testing.T) {
	s := newSharing(t, redistest.Shared(t), nil)
	s.fail = errors.New("no pipelines today")
	for _, r := range s.sendTogether(t, take(t, "first"), take(t, "second")) {
		assert.Equal(t, wire.Unknown, r.Outcome)
		assert.True(t, r.Retry)
		require.ErrorIs(t, r.Err, s.fail)
	}
}

// Only those whose script the server does not know travel once more, and each reply comes to its own.
func TestShared_NoScriptOfSome(t *testing.T) {
	srv := redistest.Start(t)
	s := newSharing(t, srv, nil)
	known := lua.Renew(t.Name()+"known", "f", time.Minute)
	require.NoError(t, srv.Raw(t).ScriptFlush(t.Context()).Err())
	require.NoError(t, srv.Raw(t).Process(t.Context(), known.Eval(t.Context())))
	require.NoError(t, srv.Raw(t).HSet(t.Context(), t.Name()+"taken", "other", 1).Err())

	replies := s.sendTogether(t, take(t, "first"), known, take(t, "taken"))
	assert.Equal(t, []int{3, 2}, s.pipelines())
	requireGranted(t, replies[0])
	assert.Equal(t, wire.Reply{Outcome: wire.Done, Value: int64(0)}, replies[1])
	assert.Equal(t, wire.Reply{Outcome: wire.Done, Value: int64(-1)}, replies[2])
}

// A caller who gives up takes back its own attempt if that is still possible, and touches nobody else's.
func TestShared_WithdrawTouchesNobodyElse(t *testing.T) {
	srv := redistest.Shared(t)
	s := newSharing(t, srv, nil)
	s.takeLanes(t)
	ended, end := context.WithCancel(t.Context())
	first := s.Send(ended, take(t, "first"))
	second := s.Send(t.Context(), take(t, "second"))
	third := s.Send(t.Context(), take(t, "third"))
	end()
	s.Withdraw(second)
	require.True(t, isDone(second))
	assert.Equal(t, wire.Refused, second.Reply().Outcome)
	assert.True(t, second.Reply().Retry)
	require.ErrorContains(t, second.Reply().Err, "no connection to spare")
	assert.False(t, isDone(first))

	s.Withdraw(s.lanes[0]) // too late
	assert.False(t, isDone(s.lanes[0]))
	s.freeLanes()
	<-first.Done()
	<-third.Done()
	<-s.lanes[0].Done()
	assert.Equal(t, wire.Done, s.lanes[0].Reply().Outcome)
	assert.Equal(t, []int{2}, s.pipelines())
	requireGranted(t, first.Reply())
	requireGranted(t, third.Reply())
	assert.Zero(t, srv.Raw(t).Exists(t.Context(), t.Name()+"second").Val(), "it was never sent")
	s.Withdraw(first)
	s.Withdraw(second)
	requireGranted(t, first.Reply())
}

// Close waits for those who wait for a lane as for those who have one, and leaves no goroutine, of those that idle neither.
func TestShared_CloseLeavesNoGoroutine(t *testing.T) {
	srv := redistest.Shared(t)
	before := goleak.IgnoreCurrent()
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), PoolSize: 4})
	s := &sharing{Wire: wire.New(rdb, clock.Boot()), busy: make(chan struct{}), free: make(chan struct{})}
	rdb.AddHook(s)
	s.takeLanes(t)
	waiting := s.Send(t.Context(), take(t, "waiting"))
	impatient, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	require.ErrorIs(t, s.Close(impatient), context.DeadlineExceeded)
	assert.False(t, isDone(waiting))

	s.freeLanes()
	require.NoError(t, s.Close(t.Context()))
	assert.True(t, isDone(waiting))
	assert.True(t, isDone(s.lanes[0]))
	assert.True(t, isDone(s.lanes[1]))
	require.NoError(t, rdb.Close())
	goleak.VerifyNone(t, before)
}

// Callers of one client in a crowd: each gets the answer to its own question.
func TestShared_EveryoneHasTheirOwnAnswer(t *testing.T) {
	const callers, rounds = 64, 20
	srv := redistest.Start(t)
	s := newSharing(t, srv, nil)
	s.freeLanes()
	var all sync.WaitGroup
	for caller := range callers {
		key := t.Name() + string(rune('A'+caller))
		all.Go(func() {
			for round := range rounds {
				level := s.Send(t.Context(), lua.Acquire(key, key, 1+round, time.Minute, lua.Orphans{}))
				look := s.Send(t.Context(), lua.Read(key))
				<-look.Done()
				<-level.Done()
				acquired, err := lua.DecodeAcquire(level.Reply().Value)
				assert.NoError(t, err)
				assert.Equal(t, lua.Granted, acquired.Outcome)
				read, err := lua.DecodeRead(look.Reply().Value)
				assert.NoError(t, err)
				for _, field := range read.Fields { // none if the look overtook the first level
					assert.Equal(t, key, field.Name)
					assert.Contains(t, []int{round, round + 1}, field.Count, "the look may overtake the level")
				}
			}
		})
	}
	all.Wait()
	assert.NotEmpty(t, s.pipelines(), "some shared one")
}

// sharing is a Wire whose two lanes a test can keep busy: what is sent meanwhile travels together when they are free. Flights
// that stall give their lanes to nobody, for the client has connections for two at a time.
type sharing struct {
	*wire.Wire

	lanes [2]*wire.Attempt
	busy  chan struct{} // receives when a lane is taken
	free  chan struct{} // closed to have the lanes go on
	fail  error         // what pipelines come to, if any

	mu    sync.Mutex // guards sizes
	sizes []int      // of the pipelines
}

func newSharing(t *testing.T, srv *redistest.Server, set func(*redis.Options)) *sharing {
	t.Helper()
	s := &sharing{busy: make(chan struct{}), free: make(chan struct{})}
	w, rdb := newWireOn(t, srv, func(o *redis.Options) {
		o.PoolSize = 2 * wire.Lanes
		if set != nil {
			set(o)
		}
	})
	s.Wire = w
	rdb.AddHook(s)
	return s
}

func (s *sharing) takeLanes(t *testing.T) {
	t.Helper()
	for i := range s.lanes {
		s.lanes[i] = s.Send(t.Context(), lua.Read(t.Name()))
		<-s.busy
	}
}

func (s *sharing) freeLanes() { close(s.free) }

// sendTogether has the calls travel in one pipeline.
func (s *sharing) sendTogether(t *testing.T, calls ...lua.Call) (replies []wire.Reply) {
	t.Helper()
	s.takeLanes(t)
	var attempts []*wire.Attempt
	for i := range calls {
		attempts = append(attempts, s.Send(t.Context(), calls[i]))
	}
	s.freeLanes()
	for _, a := range attempts {
		<-a.Done()
		replies = append(replies, a.Reply())
	}
	for _, a := range s.lanes {
		<-a.Done()
	}
	return replies
}

func (s *sharing) pipelines() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes
}

func (*sharing) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook keeps the lanes busy until they are to be free: who travels alone is who took one.
func (s *sharing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		select {
		case <-s.free:
		case s.busy <- struct{}{}:
			<-s.free
		}
		return next(ctx, cmd)
	}
}

func (s *sharing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "evalsha" || cmds[0].Name() == "eval" { // go-redis greets a server in a pipeline too
			s.mu.Lock()
			s.sizes = append(s.sizes, len(cmds))
			s.mu.Unlock()
			if s.fail != nil {
				return s.fail
			}
		}
		return next(ctx, cmds)
	}
}

// makeKnown has the server know the script of take, which else would travel twice.
func makeKnown(t *testing.T, srv *redistest.Server) {
	t.Helper()
	require.NoError(t, srv.Raw(t).Process(t.Context(), take(t, "known").Eval(t.Context())))
}

func take(t *testing.T, suffix string) lua.Call {
	t.Helper()
	return lua.Acquire(t.Name()+suffix, "f", 1, time.Minute, lua.Orphans{})
}

func requireGranted(t *testing.T, r wire.Reply) {
	t.Helper()
	require.NoError(t, r.Err)
	require.Equal(t, wire.Done, r.Outcome)
	got, err := lua.DecodeAcquire(r.Value)
	require.NoError(t, err)
	require.Equal(t, lua.Granted, got.Outcome)
}

func isDone(a *wire.Attempt) bool {
	select {
	case <-a.Done():
		return true
	default:
		return false
	}
}
