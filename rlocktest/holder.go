package rlocktest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// holder looks who holds the lock of that name; nil if nobody does, or if the holder does not know it yet. Each Client is
// asked for itself: it alone can tell the holder, and where the key prefix differs the name stands for another key.
func (s *Server) holder(ctx context.Context, name string) (*holder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stranger *holder
	for _, c := range s.clients {
		lock := c.NewLock(name)
		seen, err := lock.State(nobody(ctx))
		if errors.Is(err, rlock.ErrClosed) {
			continue
		}
		if err != nil {
			return nil, err
		}
		id, owner := split(seen.Owner)
		switch {
		case id == c.ID():
			return holderAs(ctx, lock, owner), nil
		case seen.Locked && !s.isOneOfUsLocked(id):
			stranger = &holder{lock: lock}
		}
	}
	return stranger, nil
}

// holderAs is the holder as its own Client knows it. What stands in Redis alone is a grant whose answer is still under
// way, or a hold that is over for its holder already.
func holderAs(ctx context.Context, lock *rlock.Lock, owner string) *holder {
	id, err := ownerid.Parse(owner)
	if err != nil {
		return nil
	}
	hold, held := lock.Held(ownerid.NewContext(ctx, id))
	if !held {
		return nil
	}
	return &holder{lock: lock, hold: hold.Context()}
}

func (s *Server) isOneOfUsLocked(id string) bool {
	return slices.ContainsFunc(s.clients, func(c *rlock.Client) bool { return c.ID() == id })
}

// split takes an owner in Redis apart.
func split(text string) (appID, owner string) {
	i := strings.LastIndex(text, ":")
	return text[:max(i, 0)], text[i+1:]
}

// nobody is an owner without any lock, so that Clients which insist on one answer too.
func nobody(ctx context.Context) context.Context { return ownerid.NewContext(ctx, ownerid.New()) }
