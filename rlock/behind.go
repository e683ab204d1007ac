package rlock

import (
	"context"
	"log/slog"
)

// behind is a log whose lines go to the Client's writer: who logs never waits for the log.
type behind struct {
	slog.Handler
	lines *lines
}

// Handle leaves the record to the writer, who has nobody to tell of an error.
func (b behind) Handle(ctx context.Context, r slog.Record) error {
	line := r.Clone()
	b.lines.put(func() { _ = b.Handler.Handle(ctx, line) })
	return nil
}

func (b behind) WithAttrs(attrs []slog.Attr) slog.Handler {
	return behind{b.Handler.WithAttrs(attrs), b.lines}
}

func (b behind) WithGroup(name string) slog.Handler {
	return behind{b.Handler.WithGroup(name), b.lines}
}
