package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/clock"
	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestSend_DoneCarriesTheScriptsAnswer(t *testing.T) {
	w, _ := newWire(t, nil)
	before := clock.Boot()()
	a := w.Send(t.Context(), lua.Acquire(t.Name(), "f", 1, time.Minute, lua.Orphans{}))
	<-a.Done()
	require.NoError(t, a.Reply().Err)
	assert.Equal(t, wire.Done, a.Reply().Outcome)
	got, err := lua.DecodeAcquire(a.Reply().Value)
	require.NoError(t, err)
	assert.Equal(t, lua.Granted, got.Outcome)
	assert.GreaterOrEqual(t, a.Sent, before)
	assert.LessOrEqual(t, a.Sent, clock.Boot()())
}

// A flushed script cache costs one further command, and the script runs once.
func TestSend_UnknownScriptIsSentWhole(t *testing.T) {
	srv := redistest.Start(t)
	w, _ := newWireOn(t, srv, nil)
	for range 2 {
		require.NoError(t, srv.Raw(t).ScriptFlush(t.Context()).Err())
		a := w.Send(t.Context(), lua.Acquire(t.Name(), "f", 1, time.Minute, lua.Orphans{}))
		<-a.Done()
		assert.Equal(t, wire.Done, a.Reply().Outcome)
	}
	assert.Equal(t, "1", srv.Raw(t).HGet(t.Context(), t.Name(), "f").Val())
}

func TestSendBatch_RepliesStandInOrderAlsoAfterAScriptFlush(t *testing.T) {
	srv := redistest.Start(t)
	w, _ := newWireOn(t, srv, nil)
	key := t.Name()
	require.NoError(t, srv.Raw(t).HSet(t.Context(), key+"1", "f", 1).Err())
	require.NoError(t, srv.Raw(t).Set(t.Context(), key+"2", "x", 0).Err())
	calls := []lua.Call{
		lua.Renew(key+"0", "f", time.Minute), lua.Renew(key+"1", "f", time.Minute), lua.Renew(key+"2", "f", time.Minute),
	}
	for range 2 {
		require.NoError(t, srv.Raw(t).ScriptFlush(t.Context()).Err())
		b := w.SendBatch(t.Context(), calls)
		<-b.Done()
		replies := []wire.Reply{b.Reply(0), b.Reply(1), b.Reply(2)}
		assert.EqualValues(t, 0, replies[0].Value)
		assert.EqualValues(t, 1, replies[1].Value)
		assert.Equal(t, wire.Refused, replies[2].Outcome, "one script's error is that script's alone")
		assert.ErrorContains(t, replies[2].Err, "WRONGTYPE")
	}
}

// What each kind of failure proves, and whether another attempt may fare better.
func TestOutcomes(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for name, c := range map[string]struct {
		err     error
		outcome wire.Outcome
		retry   bool
	}{
		"time-out":               {os.ErrDeadlineExceeded, wire.Unknown, true},
		"end of file":            {io.EOF, wire.Unknown, true},
		"cut":                    {&net.OpError{Op: "read", Err: errors.New("reset")}, wire.Unknown, true},
		"context":                {context.Canceled, wire.Unknown, true},
		"dial":                   {dial, wire.Refused, true},
		"pool time-out":          {redis.ErrPoolTimeout, wire.Refused, true},
		"client closed":          {redis.ErrClosed, wire.Refused, false},
		"LOADING":                {reply("LOADING Redis is loading the dataset in memory"), wire.Refused, true},
		"BUSY":                   {reply("BUSY Redis is busy running a script"), wire.Refused, true},
		"READONLY":               {reply("READONLY You can't write against a read only replica."), wire.Refused, true},
		"READONLY inside Lua":    {reply("ERR Error running script (call to f_1): @user_script:1: -READONLY no"), wire.Refused, true},
		"CLUSTERDOWN":            {reply("CLUSTERDOWN The cluster is down"), wire.Refused, true},
		"TRYAGAIN":               {reply("TRYAGAIN Multiple keys request during rehashing"), wire.Refused, true},
		"MASTERDOWN":             {reply("MASTERDOWN Link with MASTER is down"), wire.Refused, true},
		"maxclients":             {reply("ERR max number of clients reached"), wire.Refused, true},
		"WRONGTYPE":              {reply("WRONGTYPE Operation against a key"), wire.Refused, false},
		"NOPERM":                 {reply("NOPERM this user has no permissions"), wire.Refused, false},
		"OOM":                    {reply("OOM command not allowed"), wire.Refused, false},
		"wrong password":         {reply("WRONGPASS invalid username-password pair"), wire.Refused, false},
		"script that never ends": {reply("UNKILLABLE"), wire.Refused, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, rdb := newWire(t, nil)
			rdb.AddHook(failing{err: c.err})
			a := w.Send(t.Context(), lua.Renew(t.Name(), "f", time.Second))
			<-a.Done()
			assert.Equal(t, c.outcome, a.Reply().Outcome)
			assert.Equal(t, c.retry, a.Reply().Retry)
			assert.ErrorIs(t, a.Reply().Err, c.err)
			assert.Equal(t, c.retry, w.Outage(t.Name()).Err != nil, "an answer that another attempt may better is an outage")
		})
	}
}

func TestOutage_LastsFromTheFirstUnansweredAttemptToTheNextAnswer(t *testing.T) {
	w, rdb := newWire(t, nil)
	fail := &switchable{err: io.EOF}
	rdb.AddHook(fail)
	send := func() *wire.Attempt {
		a := w.Send(t.Context(), lua.Renew(t.Name(), "f", time.Second))
		<-a.Done()
		return a
	}
	first := send()
	send()
	out := w.Outage(t.Name())
	assert.Equal(t, first.Sent, out.Since)
	assert.Greater(t, out.Latest, out.Since)
	assert.ErrorIs(t, out.Err, io.EOF)
	fail.set(nil)
	send()
	assert.Zero(t, w.Outage(t.Name()))
}

func TestSilence_CountsOnlyAfterAHealthyServerWouldHaveAnswered(t *testing.T) {
	w, _ := newWire(t, nil)
	now := clock.Boot()()
	w.Silence(t.Name(), now)
	assert.Zero(t, w.Outage(t.Name()))
	w.Silence(t.Name(), now-time.Second)
	assert.ErrorIs(t, w.Outage(t.Name()).Err, os.ErrDeadlineExceeded)
}

func TestNoAnswer_IsATimeOut(t *testing.T) {
	var timeout net.Error
	require.ErrorAs(t, wire.NoAnswer(300*time.Millisecond), &timeout)
	assert.True(t, timeout.Timeout())
	assert.ErrorContains(t, wire.NoAnswer(300*time.Millisecond), "300ms")
}

// Values of the caller's context reach the hooks of go-redis, its cancellation does not.
func TestSend_OutlivesTheCallersContext(t *testing.T) {
	w, rdb := newWire(t, nil)
	seen := &watching{}
	rdb.AddHook(seen)
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	cancel()
	a := w.Send(ctx, lua.Renew(t.Name(), "f", time.Second))
	<-a.Done()
	assert.Equal(t, wire.Done, a.Reply().Outcome)
	assert.Equal(t, "value", seen.ctx.Value(key{}))
	assert.NoError(t, seen.ctx.Err())
}

// go-redis must not send a script twice by itself, whatever its options: the second run could not be told from the first.
// That goes for a pipeline too.
func TestSend_IsNeverResentByTheClient(t *testing.T) {
	srv := redistest.Shared(t)
	proxy := faultproxy.New(t, srv.Addr())
	w, _ := newWireOn(t, srv, func(o *redis.Options) { o.Addr, o.MaxRetries = proxy.Addr(), 5 })
	mine := func(n string) faultproxy.Match { return faultproxy.Word(t.Name() + n) }
	take := func(n string) lua.Call { return lua.Acquire(t.Name()+n, "f", 1, time.Minute, lua.Orphans{}) }
	warm := w.Send(t.Context(), take("warm"))
	<-warm.Done()

	proxy.CutAfterWrite(1, mine("alone"))
	a := w.Send(t.Context(), take("alone"))
	<-a.Done()
	assert.Equal(t, wire.Unknown, a.Reply().Outcome)
	assert.Equal(t, 1, proxy.Seen(mine("alone")))
	assert.Equal(t, "1", srv.Raw(t).HGet(t.Context(), t.Name()+"alone", "f").Val(), "it ran")

	proxy.CutAfterWrite(1, mine("second"))
	b := w.SendBatch(t.Context(), []lua.Call{take("first"), take("second"), take("third")})
	<-b.Done()
	assert.Equal(t, wire.Unknown, b.Reply(1).Outcome)
	for _, n := range []string{"first", "second", "third"} {
		assert.LessOrEqual(t, proxy.Seen(mine(n)), 1, n)
	}
}

func TestClose_RefusesAndWaits(t *testing.T) {
	w, rdb := newWire(t, nil)
	gate := make(chan struct{})
	rdb.AddHook(blocking{gate: gate})
	a := w.Send(t.Context(), lua.Renew(t.Name(), "f", time.Second))
	closed := make(chan struct{})
	go func() { defer close(closed); assert.NoError(t, w.Close(context.Background())) }()
	require.Eventually(t, func() bool {
		late := w.Send(t.Context(), lua.Renew(t.Name(), "f", time.Second))
		select {
		case <-late.Done():
			return errors.Is(late.Reply().Err, wire.ErrClosed)
		default:
			return false
		}
	}, 5*time.Second, time.Millisecond)
	b := w.SendBatch(t.Context(), []lua.Call{lua.Renew(t.Name(), "f", time.Second)})
	<-b.Done()
	require.ErrorIs(t, b.Reply(0).Err, wire.ErrClosed)
	select {
	case <-closed:
		t.Fatal("Close returned while an attempt was under way")
	case <-a.Done():
		t.Fatal("the attempt ended by itself")
	default:
	}
	close(gate)
	<-closed
	<-a.Done()
}

func TestBackoff_DoublesUpToASecondAndStartsAnew(t *testing.T) {
	var b wire.Backoff
	limit := 20 * time.Millisecond
	for range 10 {
		pause := b.Next()
		assert.LessOrEqual(t, pause, limit)
		assert.GreaterOrEqual(t, pause, limit/2)
		limit = min(2*limit, time.Second)
	}
	b.Reset()
	assert.LessOrEqual(t, b.Next(), 20*time.Millisecond)
}

func newWire(t *testing.T, set func(*redis.Options)) (*wire.Wire, *redis.Client) {
	t.Helper()
	return newWireOn(t, redistest.Shared(t), set)
}

func newWireOn(t *testing.T, srv *redistest.Server, set func(*redis.Options)) (*wire.Wire, *redis.Client) {
	t.Helper()
	if set == nil {
		set = func(*redis.Options) {}
	}
	rdb := srv.Client(t, set)
	w := wire.New(rdb, clock.Boot())
	t.Cleanup(func() { require.NoError(t, w.Close(context.Background())) })
	return w, rdb
}

// reply is an error reply of a server.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// hook is what the hooks below have in common: they leave dialling and pipelines alone.
type hook struct{}

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type failing struct {
	hook
	err error
}

func (f failing) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.SetErr(f.err)
		return f.err
	}
}

type switchable struct {
	hook
	mu  sync.Mutex
	err error
}

func (s *switchable) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *switchable) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.mu.Lock()
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

type watching struct {
	hook
	ctx context.Context
}

func (w *watching) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w.ctx = ctx
		return next(ctx, cmd)
	}
}

type blocking struct {
	hook
	gate chan struct{}
}

func (b blocking) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		<-b.gate
		return next(ctx, cmd)
	}
}
