package rlock

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rlock-go/rlock/internal/clock"
	"github.com/rlock-go/rlock/pubsub"
)

// Option is a setting of a Client.
type Option interface{ apply(*settings) error }

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// settings are what the options of a Client add up to.
type settings struct {
	watchdog       time.Duration
	label          string
	prefix         string
	logger         *slog.Logger
	explicitOwners bool
	retryBudget    time.Duration

	now  clock.Clock   // replaced in tests of virtual time
	look time.Duration // the fallback look of a waiter, in case a message was lost
	hub  pubsub.Config
}

func defaultSettings() settings {
	return settings{
		watchdog:    30 * time.Second,
		logger:      slog.Default(),
		retryBudget: 10 * time.Second,
		now:         clock.Boot(),
		look:        5 * time.Second,
	}
}

func newSettings(opts []Option) (settings, error) {
	s := defaultSettings()
	for _, opt := range opts {
		if opt == nil {
			return s, errors.New("rlock: New: an option is nil")
		}
		if err := opt.apply(&s); err != nil {
			return s, fmt.Errorf("rlock: New: %w", err)
		}
	}
	return s, nil
}

// WithWatchdogTimeout sets the lease of holds that were taken without one; the watchdog renews it each third of that
// time. 30 s by default, as Redisson's lockWatchdogTimeout. It is also how long a lock outlives a crashed holder.
func WithWatchdogTimeout(d time.Duration) Option {
	return option(func(s *settings) error {
		s.watchdog = d.Truncate(time.Millisecond)
		return judgeLease("WithWatchdogTimeout", d)
	})
}

// WithName puts a label in front of the Client's random APP_ID, so that a person who looks at a lock in Redis sees whose
// it is. Letters, digits, ".", "_" and "-", at most 64.
func WithName(label string) Option {
	return option(func(s *settings) error {
		s.label = label
		if label == "" {
			return errors.New("WithName: the label is empty")
		}
		return nil
	})
}

// WithKeyPrefix puts prefix in front of every lock's name, as a NameMapper of Redisson does.
func WithKeyPrefix(prefix string) Option {
	return option(func(s *settings) error {
		s.prefix = prefix
		return nil
	})
}

// WithLogger sets where the Client writes what an operator would want to know: a lost lock, a long wait, a missing right.
// Success is silent. slog.Default() by default.
func WithLogger(logger *slog.Logger) Option {
	return option(func(s *settings) error {
		s.logger = logger
		if logger == nil {
			return errors.New("WithLogger: the logger is nil")
		}
		return nil
	})
}

// WithExplicitOwners makes every verb whose context carries no owner fail with ErrNoOwner, instead of taking the calling
// goroutine for the owner.
func WithExplicitOwners() Option {
	return option(func(s *settings) error {
		s.explicitOwners = true
		return nil
	})
}

// WithRetryBudget sets for how long an operation goes on trying while Redis does not answer, or answers that it cannot
// serve now. 10 s by default; 0 means one attempt. The caller's context and a Wait above 0 cut it short when a lock is
// taken, never when it is given back or renewed.
func WithRetryBudget(d time.Duration) Option {
	return option(func(s *settings) error {
		s.retryBudget = d
		if d < 0 {
			return fmt.Errorf("WithRetryBudget: %v is negative", d)
		}
		if d > maxLease {
			return fmt.Errorf("WithRetryBudget: %v is longer than 100 years", d)
		}
		return nil
	})
}

const (
	minLease = time.Millisecond
	maxLease = 100 * 365 * 24 * time.Hour // far inside what Redis takes, and what a time.Duration can be added to
)

func judgeLease(field string, d time.Duration) error {
	if d < minLease {
		return fmt.Errorf("%s: %v is shorter than 1ms", field, d)
	}
	if d > maxLease {
		return fmt.Errorf("%s: %v is longer than 100 years", field, d)
	}
	return nil
}

// LockOption is a setting of a Lock.
type LockOption interface{ applyLock(*Lock) }

type lockOption func(*Lock)

func (o lockOption) applyLock(l *Lock) { o(l) }

// NonReentrant makes a second acquire by the owner who holds the lock fail with ErrReentry, as Redisson's non-reentrant
// lock does. It is a property of this handle: on the wire the lock is the same.
func NonReentrant() LockOption {
	return lockOption(func(l *Lock) { l.nonReentrant = true })
}
