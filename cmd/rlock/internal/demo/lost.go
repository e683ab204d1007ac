package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlock-go/rlock/rlock"
)

var lost = chapter{
	title: "A holder that loses its lock is told",
	about: "An operator deletes the key and a rival gets in. The holder's context ends, so that its work can stop.",
	tell: func(s *stage) error {
		mine, err := s.lock("shop", "payout:5", rlock.WithWatchdogTimeout(shortLease))
		if err != nil {
			return err
		}
		theirs, err := s.lock("rival", "payout:5")
		if err != nil {
			return err
		}
		hold, err := mine.Acquire(s.ctx)
		if err != nil {
			return err
		}
		if err := s.lose(mine, theirs, hold); err != nil {
			return errors.Join(err, hold.Release(s.ctx))
		}
		return s.afterTheLoss(theirs, hold)
	},
}

// lose lets somebody else have the lock.
func (s *stage) lose(mine, theirs *rlock.Lock, hold *rlock.Hold) error {
	if err := s.step(mine, by("shop", 1).leased(shortLease), "shop: hold, err := lock.Acquire(ctx)"); err != nil {
		return err
	}
	if err := s.rdb.Del(s.ctx, s.prefix+mine.Name()).Err(); err != nil {
		return err
	}
	deleted := time.Now()
	if err := s.step(mine, free, "operator: DEL payout:5"); err != nil {
		return err
	}
	if ok, err := theirs.TryLock(s.ctx); err != nil || !ok {
		return errors.Join(errors.New("the rival did not get the free lock"), err)
	}
	return s.beTold(theirs, hold, deleted)
}

// beTold waits for the news, which the renewal brings, or the end of the lease at the latest.
func (s *stage) beTold(theirs *rlock.Lock, hold *rlock.Hold, deleted time.Time) error {
	if err := s.step(theirs, by("rival", 1), "rival: lock.TryLock(ctx) = true"); err != nil {
		return err
	}
	select {
	case <-hold.Context().Done():
	case <-time.After(shortLease):
		return errors.New("the holder was not told that it lost its lock")
	}
	after, cause := time.Since(deleted), context.Cause(hold.Context())
	if !errors.Is(cause, rlock.ErrLost) {
		return fmt.Errorf("the holder's context ended for another reason: %w", cause)
	}
	err := s.step(theirs, by("rival", 1), "shop: <-hold.Context().Done(), %d ms after the DEL", after.Milliseconds())
	s.remark("context.Cause(hold.Context()):  %v", cause)
	return err
}

// afterTheLoss shows that the loser does no harm.
func (s *stage) afterTheLoss(theirs *rlock.Lock, hold *rlock.Hold) error {
	gone := hold.Release(s.ctx)
	err := s.step(theirs, by("rival", 1), "shop: err := hold.Release(ctx) leaves the rival alone")
	s.remark("err:  %v", gone)
	if !errors.Is(gone, rlock.ErrLost) {
		err = errors.Join(err, errors.New("the release of a lost lock did not say that it was lost"))
	}
	if err := errors.Join(err, theirs.Unlock(s.ctx)); err != nil {
		return err
	}
	return s.step(theirs, free, "rival: lock.Unlock(ctx)")
}
