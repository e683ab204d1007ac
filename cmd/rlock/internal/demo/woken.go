package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

var woken = chapter{
	title: "A waiter is woken, it does not poll",
	about: "worker, another process, wants the lock that shop has. It sleeps until the unlock is announced.",
	tell: func(s *stage) error {
		mine, err := s.lock("shop", "report:9")
		if err != nil {
			return err
		}
		theirs, err := s.lock("worker", "report:9")
		if err != nil {
			return err
		}
		// The worker may go on waiting when this chapter ends early; then this ends its wait.
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		return s.wake(ctx, mine, theirs)
	},
}

func (s *stage) wake(ctx context.Context, mine, theirs *rlock.Lock) error {
	hold, err := mine.Acquire(ctx)
	if err != nil {
		return err
	}
	if err := s.step(mine, by("shop", 1), "shop: hold, err := lock.Acquire(ctx)"); err != nil {
		return errors.Join(err, hold.Release(ctx))
	}
	heard := s.rdb.Subscribe(ctx, s.channel(mine))
	defer func() { _ = heard.Close() }()
	worker := begin(ownerid.NewContext(ctx, ownerid.New()), theirs)
	err = s.awaitSubscribers(ctx, mine, 2)
	if err == nil {
		err = s.step(mine, by("shop", 1), "worker: hold, err := lock.Acquire(ctx) waits, and listens")
	}
	unlocked := time.Now()
	if err := errors.Join(err, hold.Release(ctx)); err != nil {
		return err
	}
	return s.woken(ctx, theirs, worker, heard, unlocked)
}

// woken is what follows on the unlock.
func (s *stage) woken(ctx context.Context, theirs *rlock.Lock, worker <-chan waiter, heard *redis.PubSub, unlocked time.Time) error {
	w := <-worker
	if w.err != nil {
		return w.err
	}
	took := w.at.Sub(unlocked)
	err := s.step(theirs, by("worker", 1), "shop: hold.Release(ctx); worker is inside %.1f ms later", float64(took.Microseconds())/1000)
	if err := errors.Join(err, s.hear(ctx, heard), w.hold.Release(ctx)); err != nil {
		return err
	}
	if took >= promptly {
		return fmt.Errorf("the worker was not woken, it came by itself after %v", took)
	}
	return s.step(theirs, free, "worker: hold.Release(ctx)")
}

// promptly is well below the several seconds after which a waiter looks without having been told.
const promptly = 2 * time.Second

// waiter is how a wait ended.
type waiter struct {
	hold *rlock.Hold
	at   time.Time
	err  error
}

func begin(ctx context.Context, lock *rlock.Lock) <-chan waiter {
	done := make(chan waiter, 1)
	go func() {
		hold, err := lock.Acquire(ctx)
		done <- waiter{hold, time.Now(), err}
	}()
	return done
}

// channel is where unlocks of that lock are announced.
func (s *stage) channel(lock *rlock.Lock) string {
	return "redisson_lock__channel:{" + s.prefix + lock.Name() + "}"
}

func (s *stage) awaitSubscribers(ctx context.Context, lock *rlock.Lock, want int64) error {
	channel := s.channel(lock)
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		counts, err := s.rdb.PubSubNumSub(ctx, channel).Result()
		if err != nil {
			return err
		}
		if counts[channel] >= want {
			return s.pause(200 * time.Millisecond) // for the worker to fall asleep
		}
		if err := s.pause(5 * time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the worker does not listen for the unlock")
}

// hear shows the message that woke the worker.
func (s *stage) hear(ctx context.Context, heard *redis.PubSub) error {
	ctx, cancel := context.WithTimeout(ctx, promptly)
	defer cancel()
	message, err := heard.ReceiveMessage(ctx)
	if err != nil {
		return fmt.Errorf("the announcement of the unlock: %w", err)
	}
	s.remark("the message that woke it:  %s  ->  %q", message.Channel, message.Payload)
	return nil
}
