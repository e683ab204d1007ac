package demo

import (
	"context"
	"maps"
	"slices"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

var nestedCalls = chapter{
	title: "A call chain that takes its lock twice",
	about: "settle locks order:42 and calls refund, which locks order:42 again. An ordinary lock would wait for itself.",
	tell: func(s *stage) error {
		order, err := s.lock("shop", "order:42")
		if err != nil {
			return err
		}
		if err := s.settle(ownerid.NewContext(s.ctx, ownerid.New()), order); err != nil {
			return err
		}
		return s.step(order, free, "settle has returned")
	},
}

func (s *stage) settle(ctx context.Context, order *rlock.Lock) error {
	return order.Do(ctx, func(ctx context.Context) error {
		if err := s.step(order, by("shop", 1), "settle: order.Do(ctx, func...)"); err != nil {
			return err
		}
		if err := s.inFull(order); err != nil {
			return err
		}
		if err := s.refund(ctx, order); err != nil {
			return err
		}
		return s.step(order, by("shop", 1), "refund has returned; settle still has the lock")
	})
}

func (s *stage) refund(ctx context.Context, order *rlock.Lock) error {
	return order.Do(ctx, func(context.Context) error {
		return s.step(order, by("shop", 2), "refund: order.Do(ctx, func...), with the ctx it was given")
	})
}

// inFull shows once what the other lines cut short.
func (s *stage) inFull(lock *rlock.Lock) error {
	got, err := s.look(lock)
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(got.fields)) {
		s.remark("in full:  HGETALL %s  ->  %s  %s", s.prefix+lock.Name(), field, got.fields[field])
	}
	return nil
}
