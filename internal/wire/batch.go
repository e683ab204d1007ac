package wire

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/lua"
)

// Batch is several commands on their way in one pipeline.
type Batch struct {
	// Sent is an instant before the pipeline was handed to go-redis.
	Sent    time.Duration
	done    chan struct{}
	replies []Reply
}

// Done is closed when the outcome of every command is known, which for some may be that it stays unknown.
func (b *Batch) Done() <-chan struct{} { return b.done }

// Replies are the outcomes in the order of the calls. They may be asked for only after Done.
func (b *Batch) Replies() []Reply { return b.replies }

// SendBatch starts one pipeline of independent calls and returns at once. The replies that were read before a connection
// broke stand; every command after them is unknown.
func (w *Wire) SendBatch(ctx context.Context, calls []lua.Call) *Batch {
	b := &Batch{done: make(chan struct{}), replies: make([]Reply, len(calls)), Sent: w.now()}
	if !w.takeOff() {
		for i := range b.replies {
			b.replies[i] = Reply{Outcome: Refused, Err: ErrClosed}
		}
		close(b.done)
		return b
	}
	go func() {
		defer w.flying.Done()
		defer close(b.done)
		w.runBatch(w.context(ctx), calls, b)
	}()
	return b
}

// runBatch sends the short forms, then the whole text of just those that the server did not know.
func (w *Wire) runBatch(ctx context.Context, calls []lua.Call, b *Batch) {
	all := make([]int, len(calls))
	for i := range calls {
		all[i] = i
	}
	w.pipeline(ctx, calls, all, lua.Call.EvalSha, b)
	if unknown := b.noScript(); len(unknown) > 0 {
		w.pipeline(ctx, calls, unknown, lua.Call.Eval, b)
	}
	for i, reply := range b.replies {
		w.note(calls[i].Key(), b.Sent, reply)
	}
}

// pipeline sends the calls at the given places in one of their two forms and files what came of them.
func (w *Wire) pipeline(
	ctx context.Context, calls []lua.Call, places []int, form func(lua.Call, context.Context) *lua.Cmd, b *Batch,
) {
	pipe := w.rdb.Pipeline()
	cmds := make([]*lua.Cmd, len(places))
	for i, place := range places {
		cmds[i] = form(calls[place], ctx)
		_ = pipe.Process(ctx, cmds[i])
	}
	_, _ = pipe.Exec(ctx)
	for i, place := range places {
		b.replies[place] = judge(cmds[i].Val(), cmds[i].Err())
	}
}

// noScript lists the places of the calls that were refused only because the server did not know their script.
func (b *Batch) noScript() []int {
	var places []int
	for i, reply := range b.replies {
		if isNoScript(reply.Err) {
			places = append(places, i)
		}
	}
	return places
}
