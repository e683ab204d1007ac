package rlock

import (
	"context"
	"reflect"

	"github.com/rlock-go/rlock/ownerid"
)

// Context carries the owner and everything else that the context of the acquire carries. It ends with that context, and
// besides as soon as the hold is lost or released; context.Cause then says why: ErrLost, ErrMaxHold, ErrReleased or
// ErrClosed. A lost hold ends it in time: no later than the moment at which another could get in, as long as this process
// runs.
func (h *Hold) Context() context.Context {
	ctx, cause := h.contextSoFar()
	if ctx != nil {
		return ctx
	}
	// The caller's context may be of a kind of its own, whose methods run here and may ask a hold: not under the mutex.
	ctx, cancel := context.WithCancelCause(ownerid.NewContext(h.parent, h.t.seat.key.owner))
	if cause != nil {
		cancel(cause)
	}
	given, cause := h.giveOut(ctx, cancel)
	if given != ctx || cause != nil {
		cancel(cause)
	}
	return given
}

// contextSoFar is the context if it was asked for before, and else why the hold is over, if it is.
func (h *Hold) contextSoFar() (context.Context, error) {
	h.t.seat.mu.Lock()
	defer h.t.seat.mu.Unlock()
	h.followTwinLocked()
	return h.ctx, h.endLocked()
}

// followTwinLocked takes the context of another viewer that hangs on the same one.
func (h *Hold) followTwinLocked() {
	if twin := h.t.viewers.of(h.parent); h.ctx == nil && twin != nil && h.shown != nil {
		h.ctx, h.cancel = twin.ctx, twin.cancel
	}
}

// giveOut makes ctx the hold's context, unless somebody else was faster, and says why the hold is over, if it is.
func (h *Hold) giveOut(ctx context.Context, cancel context.CancelCauseFunc) (context.Context, error) {
	h.t.seat.mu.Lock()
	defer h.t.seat.mu.Unlock()
	if h.followTwinLocked(); h.ctx != nil {
		return h.ctx, nil
	}
	h.ctx, h.cancel = ctx, cancel
	cause := h.endLocked()
	if cause == nil && h.shown != nil {
		h.t.enterViewerLocked(h)
	}
	return ctx, cause
}

// viewers are the Holds that Held showed and whose Context was asked for, by the context that it hangs on: Held may be asked
// any number of times in one tenure, and the same context gets the same answer.
type viewers map[context.Context]*Hold

// of finds the viewer that hangs on ctx.
func (v viewers) of(ctx context.Context) *Hold {
	if !isComparable(ctx) {
		return nil
	}
	return v[ctx]
}

// enterViewerLocked files a viewer until its context ends: with the tenure, or before with its parent.
func (t *tenure) enterViewerLocked(h *Hold) {
	key := h.parent
	if !isComparable(key) {
		key = h.ctx // which serves nobody else, but can be filed
	}
	if t.viewers == nil {
		t.viewers = viewers{}
	}
	t.viewers[key] = h
	context.AfterFunc(h.ctx, func() {
		t.seat.mu.Lock()
		defer t.seat.mu.Unlock()
		delete(t.viewers, key)
	})
}

// isComparable: to compare a context of a user's own kind can panic.
func isComparable(ctx context.Context) bool { return reflect.ValueOf(ctx).Comparable() }

// endLocked is why the hold is over, as far as anybody was told.
func (h *Hold) endLocked() error {
	switch {
	case h.claimed:
		return h.cause
	case h.t.ended != nil:
		return h.t.ended
	case h.over != nil:
		return h.over
	default:
		return h.t.told
	}
}

func (h *Hold) cancelContext(cause error) {
	h.t.seat.mu.Lock()
	cancel := h.cancel
	h.t.seat.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// viewLocked makes a Hold that shows the tenure.
func (t *tenure) viewLocked(ctx context.Context) *Hold {
	return &Hold{t: t, parent: ctx, shown: t.levels[len(t.levels)-1]}
}
