package wire

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/lua"
)

// Batch is several commands on their way in one pipeline of their own.
type Batch struct {
	// Sent is an instant before the pipeline was handed to go-redis.
	Sent     time.Duration
	done     chan struct{}
	attempts []*Attempt
}

// Done is closed when the outcome of every command is known, which for some may be that it stays unknown.
func (b *Batch) Done() <-chan struct{} { return b.done }

// Reply is the outcome of one command, by its place among the calls. It may be asked for only after Done.
func (b *Batch) Reply(i int) Reply { return b.attempts[i].reply }

// SendBatch starts one pipeline of independent calls and returns at once.
func (w *Wire) SendBatch(ctx context.Context, calls []lua.Call) *Batch {
	b := &Batch{done: make(chan struct{}), attempts: make([]*Attempt, len(calls)), Sent: w.now()}
	room := make([]Attempt, len(calls))
	for i := range calls {
		b.attempts[i] = &room[i]
		w.prepare(ctx, b.attempts[i], calls[i])
	}
	if !w.takeOff() {
		for _, a := range b.attempts {
			a.reply = closedReply
		}
		close(b.done)
		return b
	}
	go func() {
		defer w.flying.Done()
		defer close(b.done)
		w.run(b.attempts)
	}()
	return b
}
