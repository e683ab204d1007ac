// Package wire carries scripts to Redis and says what their outcome proves.
//
// A lock is right under failure only if it knows three answers apart: done (the script ran and this is its reply),
// refused (it did not run, and never will) and unknown (it may have run, or may still do so). go-redis on its own resends
// a command after a time-out and so turns an unknown outcome into a second execution; the commands sent here are therefore
// marked NoRetry, and whoever sends decides what a further attempt may look like.
//
// A command in flight cannot be called back. Send hence never blocks and hands out an Attempt, on which the caller waits
// for as long as it likes; a reply that comes later stays readable, for whoever settles what the caller abandoned.
package wire

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/internal/clock"
	"github.com/rlock-go/rlock/lua"
)

// Wire is the way to one deployment of Redis. It is safe for concurrent use.
type Wire struct {
	rdb    redis.UniversalClient
	now    clock.Clock
	life   context.Context //nolint:containedctx // ends with the Wire
	end    context.CancelFunc
	health health
	shared *coalescer // nil on a Cluster, where commands that travel together must go to one node

	mu     sync.Mutex // guards closed, and that no attempt starts once it is true
	closed bool
	flying sync.WaitGroup
}

// New makes a Wire that sends through rdb. It does no I/O.
func New(rdb redis.UniversalClient, now clock.Clock) *Wire {
	life, end := context.WithCancel(context.Background())
	w := &Wire{rdb: rdb, now: now, life: life, end: end}
	if single, ok := rdb.(*redis.Client); ok {
		w.shared = newCoalescer(connections(single)/2, w.fly)
	}
	return w
}

// connections is how many the pool of a client has.
func connections(rdb *redis.Client) int {
	n := rdb.Options().PoolSize
	if most := rdb.Options().MaxActiveConns; most > 0 {
		n = min(n, most)
	}
	return n
}

// Send starts one attempt to run call and returns at once. The command has the values of ctx, for tracing hooks; its cancellation
// it has not, because an attempt outlives a caller who gave up. While others are on their way an attempt may
// share a pipeline with more of its kind; its outcome is its own all the same.
func (w *Wire) Send(ctx context.Context, call lua.Call) *Attempt {
	a := &Attempt{done: make(chan struct{})}
	w.prepare(ctx, a, call)
	switch {
	case !w.takeOff():
		a.reply = closedReply
		close(a.done)
	case w.shared != nil:
		w.shared.send(a)
	default:
		go w.fly([]*Attempt{a})
	}
	return a
}

// Withdraw is for a caller who gives up: an attempt that still waits for a pipeline to travel in is refused, and never sent. Any
// other goes on as if nothing had been said.
func (w *Wire) Withdraw(a *Attempt) {
	if w.shared != nil && w.shared.withdraw(a) {
		a.reply = Reply{Outcome: Refused, Err: errNoConnection, Retry: true}
		close(a.done)
		w.flying.Done()
	}
}

func (w *Wire) prepare(ctx context.Context, a *Attempt, call lua.Call) {
	a.Sent, a.call = w.now(), call
	a.ctx = commandContext{Context: w.life, values: context.WithoutCancel(ctx)}
}

// fly carries attempts of different callers.
func (w *Wire) fly(load []*Attempt) {
	w.run(load)
	for _, a := range load {
		close(a.done)
		w.flying.Done()
	}
}

// run sends the short forms, and then the whole text of those whose script the server does not know: it lost its script cache
// by a restart, a flush or a failover, and NOSCRIPT is proof that nothing ran. The replies that were read before a connection
// broke stand; every command after them is unknown.
func (w *Wire) run(load []*Attempt) {
	w.exchange(load, lua.Call.EvalSha)
	if unknown := noScript(load); len(unknown) > 0 {
		w.exchange(unknown, lua.Call.Eval)
	}
	for _, a := range load {
		w.note(a.call.Key(), a.Sent, a.reply)
	}
}

// exchange sends attempts in one of their two forms and files what came of them. Who travels alone needs no pipeline.
func (w *Wire) exchange(load []*Attempt, form func(lua.Call, context.Context) *lua.Cmd) {
	if len(load) == 1 {
		a := load[0]
		cmd := form(a.call, &a.ctx)
		err := w.rdb.Process(&a.ctx, cmd)
		if err == nil {
			err = cmd.Err() // an asynchronous AutoPipeliner has returned before there was an answer
		}
		a.reply = judge(cmd, err)
		return
	}
	pipe := w.rdb.Pipeline()
	cmds := make([]*lua.Cmd, len(load))
	for i, a := range load {
		cmds[i] = form(a.call, &a.ctx)
		_ = pipe.Process(&a.ctx, cmds[i])
	}
	_, err := pipe.Exec(w.life)
	for i, a := range load {
		a.reply = judge(cmds[i], errorOf(cmds[i], err))
	}
}

// errorOf is why a command in a pipeline has no answer. One that was read stands: when a connection breaks, go-redis marks all
// commands as failed. And where go-redis or a hook gave the pipeline up without telling each command, its error counts: no script
// answers nothing.
func errorOf(cmd *lua.Cmd, pipeline error) error {
	switch {
	case cmd.Val() != nil:
		return nil
	case cmd.Err() != nil:
		return cmd.Err()
	default:
		return pipeline
	}
}

// noScript picks the attempts that were refused only because the server did not know their script.
func noScript(load []*Attempt) (unknown []*Attempt) {
	for _, a := range load {
		if isNoScript(a.reply.Err) {
			unknown = append(unknown, a)
		}
	}
	return unknown
}

// Close lets no further attempt start and waits for those in flight, as long as ctx allows: as long as go-redis takes to
// give each of them up, if it does.
func (w *Wire) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	landed := make(chan struct{})
	go func() {
		defer close(landed)
		w.flying.Wait()
		if w.shared != nil {
			w.shared.close()
		}
	}()
	select {
	case <-landed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeOff counts one more attempt, unless the Wire is closed.
func (w *Wire) takeOff() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.flying.Add(1)
	return true
}

// commandContext gives a command the life of the Wire and the values of its caller.
type commandContext struct {
	context.Context //nolint:containedctx // this type is a context
	values          context.Context
}

// Value also finds what the standard library asks a context for to hang a child on it, which is the life's.
func (c *commandContext) Value(key any) any {
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// Attempt is one command on its way.
type Attempt struct {
	// Sent is an instant before the command was handed to go-redis: what the command starts on the server, a lease for
	// instance, starts no earlier.
	Sent  time.Duration
	call  lua.Call
	ctx   commandContext
	done  chan struct{} // nil in a batch
	reply Reply
}

// Key is the key that the command works on.
func (a *Attempt) Key() string { return a.call.Key() }

// Done is closed when the attempt's own outcome is known, which may be that it stays unknown for ever.
func (a *Attempt) Done() <-chan struct{} { return a.done }

// Reply is what came of the attempt. It may be asked for only after Done.
func (a *Attempt) Reply() Reply { return a.reply }
