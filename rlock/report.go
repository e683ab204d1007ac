package rlock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// report writes the line that an operator would want about a tenure that ended. A release is silent, and so is the end that
// the holder asked for, by a fixed lease or by MaxHold.
func (c *Client) report(t *tenure, cause error) {
	if errors.Is(cause, ErrLost) && cause != errLeaseOver && cause != ErrMaxHold { //nolint:errorlint // those very ones
		c.lines.put(func() {
			c.log.Warn("rlock: lock lost", slog.String("lock", t.lock.name),
				slog.String("owner", t.seat.key.owner.String()), slog.String("cause", cause.Error()))
		})
	}
}

// reportWait writes the line about a wait that is longer than a lease of the watchdog. When the holder is of this very
// process, the reason is often a context that was not handed on: the caller waits for itself. One that enters its own hold
// waits for Redis alone.
func (a *acquisition) reportWait(ctx context.Context, waited time.Duration) {
	attrs := []any{
		slog.String("lock", a.lock.name), slog.String("owner", a.seat.key.owner.String()),
		slog.Duration("waited", waited.Round(time.Millisecond)),
	}
	line := "rlock: still waiting"
	if t := a.c.table.holder(a.lock.keys.hash); t != nil && t.seat != a.seat {
		attrs = append(attrs, slog.String("holder", t.seat.key.owner.String()))
		line += ", for a holder of this very process: does it wait for itself, because the context with the owner was not " +
			"handed on?"
	}
	log := a.c.log // so that the acquisition itself need not live on: it would cost every acquire an allocation
	a.c.lines.put(func() { log.WarnContext(ctx, line, attrs...) })
}
