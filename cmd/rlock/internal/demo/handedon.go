package demo

import (
	"context"
	"errors"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

var handedOn = chapter{
	title: "The owner travels in the context",
	about: "Who is handed the holder's context is let in, on whatever goroutine it runs. Who is not, is not.",
	tell: func(s *stage) error {
		stock, err := s.lock("shop", "stock:7")
		if err != nil {
			return err
		}
		hold, err := stock.Acquire(ownerid.NewContext(s.ctx, ownerid.New()))
		if err != nil {
			return err
		}
		err = s.handOn(stock, hold)
		if gone := hold.Release(s.ctx); err == nil {
			err = gone
		}
		if err != nil {
			return err
		}
		return s.step(stock, free, "caller: hold.Release(ctx)")
	},
}

func (s *stage) handOn(stock *rlock.Lock, hold *rlock.Hold) error {
	if err := s.step(stock, by("shop", 1), "caller: hold, err := stock.Acquire(ctx)"); err != nil {
		return err
	}
	if err := onAnotherGoroutine(func() error { return s.helper(hold.Context(), stock) }); err != nil {
		return err
	}
	return onAnotherGoroutine(func() error { return s.stranger(ownerid.Without(hold.Context()), stock) })
}

func (s *stage) helper(ctx context.Context, stock *rlock.Lock) error {
	return stock.Do(ctx, func(context.Context) error {
		return s.step(stock, by("shop", 2), "goroutine with hold.Context(): stock.Do(ctx, func...)")
	})
}

func (s *stage) stranger(ctx context.Context, stock *rlock.Lock) error {
	ok, err := stock.TryLock(ctx)
	if err != nil {
		return err
	}
	if ok {
		return errors.Join(errors.New("a goroutine without the owner was let in"), stock.Unlock(ctx))
	}
	return s.step(stock, by("shop", 1), "goroutine without the owner: stock.TryLock(ctx) = %v", ok)
}

// onAnotherGoroutine runs f and waits for it.
func onAnotherGoroutine(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return <-done
}
