// Handoff: the owner travels in the context. Whoever is handed it re-enters, on whichever goroutine; whoever is to be kept
// out is handed a context without it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/rlock-go/rlock/examples/internal/embedded"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

func report(ctx context.Context, lock *rlock.Lock) (err error) {
	hold, err := lock.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Release(ctx)) }() // Release tells if the lock was lost

	helped := make(chan error)
	go func(ctx context.Context) { // the same owner, on another goroutine
		helped <- lock.Do(ctx, func(context.Context) error { return nil })
	}(hold.Context())
	if err := <-helped; err != nil {
		return err
	}

	go func(ctx context.Context) { // an owner of its own: kept out
		_, err := lock.TryAcquire(ctx)
		helped <- err
	}(ownerid.Without(hold.Context()))
	fmt.Println("the stranger is kept out:", errors.Is(<-helped, rlock.ErrNotAcquired))
	return nil
}

func main() {
	client, stop := embedded.Client()
	defer stop()
	if err := report(context.Background(), client.NewLock("report:2026")); err != nil {
		log.Println(err)
	}
}
