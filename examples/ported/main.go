// Ported: code that came from Java and Redisson. The goroutine is the owner, as the thread is there.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/rlock-go/rlock/examples/internal/embedded"
	"github.com/rlock-go/rlock/rlock"
)

// lock.lock(); try { … } finally { lock.unlock(); }
func book(ctx context.Context, lock *rlock.Lock) (err error) {
	if err := lock.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		if lost := lock.Unlock(ctx); err == nil {
			err = lost
		}
	}()
	return audit(ctx, lock)
}

// if (lock.tryLock(2, 10, SECONDS)) { try { … } finally { lock.unlock(); } }
func audit(ctx context.Context, lock *rlock.Lock) error {
	ok, err := lock.TryLock(ctx, rlock.Wait(2*time.Second), rlock.Lease(10*time.Second))
	if err != nil || !ok {
		return err
	}
	fmt.Println("the same goroutine gets in again")
	return lock.Unlock(ctx)
}

func main() {
	client, stop := embedded.Client()
	defer stop()
	if err := book(context.Background(), client.NewLock("account:7")); err != nil {
		log.Println(err)
	}
}
