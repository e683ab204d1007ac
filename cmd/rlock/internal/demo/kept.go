package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlock-go/rlock/rlock"
)

// shortLease makes renewals visible within the time that somebody likes to watch. 30 s is the default.
const shortLease = 2 * time.Second

var kept = chapter{
	title: "The watchdog keeps a lock for as long as its holder lives",
	about: "The lease is only 2 s here. Each third of that it is renewed, so work may take longer than the lease.",
	tell: func(s *stage) error {
		backup, err := s.lock("shop", "backup", rlock.WithWatchdogTimeout(shortLease))
		if err != nil {
			return err
		}
		hold, err := backup.Acquire(s.ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(s.watch(backup, hold), hold.Release(s.ctx)); err != nil {
			return err
		}
		return s.step(backup, free, "shop: hold.Release(ctx)")
	},
}

func (s *stage) watch(backup *rlock.Lock, hold *rlock.Hold) error {
	held := by("shop", 1).leased(shortLease)
	if err := s.step(backup, held, "shop: hold, err := lock.Acquire(ctx)"); err != nil {
		return err
	}
	begun := time.Now()
	for passed := time.Duration(0); passed < shortLease*3/2; {
		if err := s.pause(600 * time.Millisecond); err != nil {
			return err
		}
		passed = time.Since(begun)
		if err := s.step(backup, held, "%.1f s later%s", passed.Seconds(), epoch(passed)); err != nil {
			return err
		}
	}
	if !hold.Held() {
		return fmt.Errorf("the hold has ended: %w", context.Cause(hold.Context()))
	}
	return nil
}

func epoch(passed time.Duration) string {
	if passed > shortLease {
		return ", past the end of the first lease"
	}
	return ""
}
