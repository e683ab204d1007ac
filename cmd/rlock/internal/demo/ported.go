package demo

import (
	"context"
	"errors"
	"time"

	"github.com/rlock-go/rlock/rlock"
)

var ported = chapter{
	title: "Code ported from Java",
	about: "lock.lock(); try {...} finally {lock.unlock();} means the same in Go. The owner is the goroutine, by its number.",
	tell: func(s *stage) error {
		invoice, err := s.lock("shop", "invoice:3")
		if err != nil {
			return err
		}
		if err := s.print(s.ctx, invoice); err != nil {
			return err
		}
		if err := s.step(invoice, free, "A: the deferred Unlocks have run"); err != nil {
			return err
		}
		return onAnotherGoroutine(func() error { return s.lease(s.ctx, invoice) })
	},
}

// print and stamp are the ported methods: one calls the other, and each locks.
func (s *stage) print(ctx context.Context, invoice *rlock.Lock) (err error) {
	if err := invoice.Lock(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, invoice.Unlock(ctx)) }()
	if err := s.step(invoice, by("shop", 1), "goroutine A: lock.Lock(ctx); defer lock.Unlock(ctx)"); err != nil {
		return err
	}
	if err := s.stamp(ctx, invoice); err != nil {
		return err
	}
	return onAnotherGoroutine(func() error { return s.outwait(ctx, invoice) })
}

func (s *stage) stamp(ctx context.Context, invoice *rlock.Lock) (err error) {
	if err := invoice.Lock(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, invoice.Unlock(ctx)) }()
	return s.step(invoice, by("shop", 2), "A, in a method it calls: the same once more")
}

// outwait is another thread that loses its patience.
func (s *stage) outwait(ctx context.Context, invoice *rlock.Lock) error {
	const wait = 200 * time.Millisecond
	begun := time.Now()
	ok, err := invoice.TryLock(ctx, rlock.Wait(wait))
	waited := time.Since(begun)
	switch {
	case err != nil:
		return err
	case ok:
		return errors.Join(errors.New("two goroutines were inside"), invoice.Unlock(ctx))
	case waited < wait:
		return errors.New("TryLock did not wait as long as it was told to")
	}
	return s.step(invoice, by("shop", 1), "goroutine B: lock.TryLock(ctx, Wait(200ms)) = %v after %d ms", ok, waited.Milliseconds())
}

// lease is that thread when the lock is free: it takes it for a fixed time.
func (s *stage) lease(ctx context.Context, invoice *rlock.Lock) (err error) {
	ok, err := invoice.TryLock(ctx, rlock.Wait(time.Second), rlock.Lease(5*time.Second))
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("the lock was free and TryLock did not get it")
	}
	err = s.step(invoice, by("shop", 1).leased(5*time.Second), "B: lock.TryLock(ctx, Wait(1s), Lease(5s)) = %v", ok)
	if err := errors.Join(err, invoice.Unlock(ctx)); err != nil {
		return err
	}
	return s.step(invoice, free, "B: lock.Unlock(ctx)")
}
