package rlock

import (
	"context"
	"fmt"
	"time"

	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

// reply is the answer to a command that may be repeated at will.
type reply struct {
	value any
	sent  time.Duration // before the attempt that was answered
	doubt bool          // an earlier attempt may have run too
	err   error
}

// ask runs a call that may be repeated at will, until it is answered, ctx ends or the retry budget is over; an attempt that is under way at the
// end of the budget may take one read time-out more.
func (c *Client) ask(ctx context.Context, call lua.Call) reply {
	var (
		got    reply
		pauses wire.Backoff
		began  = c.set.now()
	)
	for {
		r, ended := c.askOnce(ctx, call, &got)
		if ended {
			return got.endedBy(ctx)
		}
		if r.Outcome == wire.Done || !r.Retry {
			got.value, got.err = r.Value, c.closedOr(r.Err)
			return got
		}
		got.doubt = got.doubt || r.Outcome == wire.Unknown
		got.err = r.Err
		pause := pauses.Next()
		if c.set.now()+pause >= began+c.set.retryBudget {
			return got
		}
		if !napOn(ctx, pause) {
			return got.endedBy(ctx)
		}
	}
}

// endedBy is the reply when ctx ended the asking: its error, and why there was no answer until then, if that is known.
func (r reply) endedBy(ctx context.Context) reply {
	if r.err == nil {
		r.err = endOf(ctx)
	} else {
		r.err = fmt.Errorf("%w: %w", endOf(ctx), r.err)
	}
	return r
}

// askOnce makes one attempt, and reports whether ctx ended it.
func (c *Client) askOnce(ctx context.Context, call lua.Call, got *reply) (r wire.Reply, ended bool) {
	if ctx.Err() != nil {
		return r, true
	}
	attempt := c.wire.Send(ctx, call)
	got.sent = attempt.Sent
	return c.await(ctx, attempt)
}

// await waits for the answer to a command as long as go-redis does, and reports whether ctx ended before.
func (c *Client) await(ctx context.Context, attempt *wire.Attempt) (r wire.Reply, ended bool) {
	timer := c.timers.start(c.answer)
	defer c.timers.stop(timer)
	select {
	case <-attempt.Done():
		return attempt.Reply(), false
	case <-ctx.Done():
		c.wire.Withdraw(attempt)
		return r, true
	case <-timer.C:
		if c.wire.Withdraw(attempt); isClosed(attempt.Done()) {
			return attempt.Reply(), false
		}
		c.wire.Silence(attempt.Key(), attempt.Sent)
		return wire.Reply{Outcome: wire.Unknown, Err: wire.NoAnswer(c.set.now() - attempt.Sent), Retry: true}, false
	}
}

// awaitAnyway is await for a command that nobody's context calls off.
func (c *Client) awaitAnyway(attempt *wire.Attempt) wire.Reply {
	r, _ := c.await(context.Background(), attempt)
	return r
}

// napOn sleeps, and reports false when ctx ends first.
func napOn(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
