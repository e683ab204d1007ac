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

	mu     sync.Mutex // guards closed, and that no attempt starts once it is true
	closed bool
	flying sync.WaitGroup
}

// New makes a Wire that sends through rdb. It does no I/O.
func New(rdb redis.UniversalClient, now clock.Clock) *Wire {
	life, end := context.WithCancel(context.Background())
	return &Wire{rdb: rdb, now: now, life: life, end: end}
}

// Send starts one attempt to run call and returns at once. The values of ctx travel with the command, for tracing hooks;
// its cancellation does not, because an attempt outlives a caller who gave up.
func (w *Wire) Send(ctx context.Context, call lua.Call) *Attempt {
	a := &Attempt{done: make(chan struct{}), Sent: w.now(), key: call.Key()}
	if !w.takeOff() {
		a.land(Reply{Outcome: Refused, Err: ErrClosed})
		return a
	}
	go func() {
		defer w.flying.Done()
		a.land(w.note(a.key, a.Sent, w.run(w.context(ctx), call)))
	}()
	return a
}

// run sends the short form, and once the whole text if the server does not know the script: it lost its script cache by
// a restart, a flush or a failover, and NOSCRIPT is proof that nothing ran.
func (w *Wire) run(ctx context.Context, call lua.Call) Reply {
	cmd := call.EvalSha(ctx)
	err := w.rdb.Process(ctx, cmd)
	if isNoScript(err) {
		cmd = call.Eval(ctx)
		err = w.rdb.Process(ctx, cmd)
	}
	return judge(cmd.Val(), err)
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

// context gives a command the life of the Wire and the values of its caller.
func (w *Wire) context(caller context.Context) context.Context {
	return commandContext{Context: w.life, values: context.WithoutCancel(caller)}
}

type commandContext struct {
	context.Context //nolint:containedctx // this type is a context
	values          context.Context
}

// Value also finds what the standard library asks a context for to hang a child on it, which is the life's.
func (c commandContext) Value(key any) any {
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
	key   string
	done  chan struct{}
	reply Reply
}

// Key is the key that the command works on.
func (a *Attempt) Key() string { return a.key }

// Done is closed when the attempt's own outcome is known, which may be that it stays unknown for ever.
func (a *Attempt) Done() <-chan struct{} { return a.done }

// Reply is what came of the attempt. It may be asked for only after Done.
func (a *Attempt) Reply() Reply { return a.reply }

// land sets the outcome, once.
func (a *Attempt) land(r Reply) {
	a.reply = r
	close(a.done)
}
