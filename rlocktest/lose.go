package rlocktest

import (
	"context"
	"errors"
	"time"

	"github.com/rlock-go/rlock/rlock"
)

// AwaitHeld returns once somebody holds the lock of that name. If nobody does for 10 s, it ends the test.
func (s *Server) AwaitHeld(name string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	s.awaitHolder(ctx, name)
}

// Lose takes the lock of that name away from its holder, all levels at once, as a forced unlock does. It waits until
// somebody holds it; if nobody does for 10 s, it ends the test.
//
// When Lose returns, the hold is gone, and its contexts, if it is one of this Server's Clients who had it, have ended with
// a cause that is [rlock.ErrLost]. A holder elsewhere learns of it at its next renewal.
func (s *Server) Lose(name string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	for {
		h := s.awaitHolder(ctx, name)
		removed, err := h.lock.ForceUnlock(nobody(ctx))
		if err != nil {
			s.t.Fatalf("rlocktest: Lose: %v", err)
		}
		if removed || h.lost() {
			return // else it was given back under our hands
		}
	}
}

func (s *Server) awaitHolder(ctx context.Context, name string) *holder {
	s.t.Helper()
	for {
		h, err := s.holder(ctx, name)
		switch {
		case ctx.Err() != nil:
			s.t.Fatalf("rlocktest: nobody has taken %q within %v", name, s.patience)
		case err != nil:
			s.t.Fatalf("rlocktest: who holds %q? %v", name, err)
		case h != nil:
			return h
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// holder is who holds a lock.
type holder struct {
	lock *rlock.Lock     // a handle of it, of the holder's Client if that is one of the Server's
	hold context.Context //nolint:containedctx // ends with the hold; nil if the holder's Client is none of the Server's
}

func (h *holder) lost() bool { return h.hold != nil && errors.Is(context.Cause(h.hold), rlock.ErrLost) }
