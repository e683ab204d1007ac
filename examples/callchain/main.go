// Callchain: settle locks an order and calls refund, which locks the same order again and gets in, because the context
// that it is handed carries the owner.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/rlock-go/rlock/examples/internal/embedded"
	"github.com/rlock-go/rlock/rlock"
)

type orders struct{ locks *rlock.Client }

func (o *orders) settle(ctx context.Context, id string) error {
	lock := o.locks.NewLock("order:" + id)
	return lock.Do(ctx, func(ctx context.Context) error {
		// ... and ctx ends when the lock is lost
		return o.refund(ctx, id)
	})
}

func (o *orders) refund(ctx context.Context, id string) error {
	lock := o.locks.NewLock("order:" + id)
	return lock.Do(ctx, func(ctx context.Context) error {
		state, err := lock.State(ctx)
		fmt.Println("levels held in refund:", state.Holds)
		return err
	})
}

func main() {
	client, stop := embedded.Client()
	defer stop()
	o := &orders{locks: client}
	if err := o.settle(context.Background(), "42"); err != nil {
		log.Println(err)
	}
}
