package rlock

import (
	"context"
	"time"

	"github.com/rlock-go/rlock/lua"
)

// extend starts the fixed lease of this level anew. Within a tenure that is renewed it changes what this level will need
// once the renewed ones are given back, and the command names the watchdog's lease.
func (h *Hold) extend(ctx context.Context, lease time.Duration) error {
	ask, err := h.extension(lease)
	if err != nil {
		return err
	}
	t := h.t
	got := t.c.ask(ctx, lua.Renew(t.lock.keys.wire.hash, t.field.text, t.named(ask)))
	if got.err != nil {
		return got.err
	}
	held, err := lua.DecodeRenew(got.value)
	if err != nil {
		return err
	}
	if !held {
		t.end(errGone)
	}
	return h.extended(got.sent, ask, lease)
}

// extension is the lease to ask for.
func (h *Hold) extension(lease time.Duration) (time.Duration, error) {
	t := h.t
	t.seat.mu.Lock()
	tell := t.checkLocked(t.c.set.now())
	ask, err := lease, h.usableLocked()
	if t.renewedLocked() {
		ask = t.c.set.watchdog
	}
	if err == nil {
		t.askLocked(max(ask, lease))
	}
	t.seat.mu.Unlock()
	tell.now()
	return ask, err
}

func (h *Hold) usableLocked() error {
	switch {
	case h.t.ended != nil && h.t.ended != ErrReleased: //nolint:errorlint // that very one
		return h.t.ended
	case h.claimed:
		return ErrNotHeld
	case h.over != nil:
		return h.over
	case h.fixedUntil == 0:
		return errExtendRenewed
	default:
		return nil
	}
}

// extended takes a confirmed extension for proof.
func (h *Hold) extended(sent, asked, lease time.Duration) error {
	h.t.seat.mu.Lock()
	tell := h.t.answeredLocked(sent, asked)
	err := h.usableLocked()
	if err == nil {
		h.fixedUntil = max(h.fixedUntil, sent+lease)
	}
	h.t.seat.mu.Unlock()
	tell.now()
	return err
}
