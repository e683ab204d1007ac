package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// The context of a hold carries the owner, and its end says why the hold is over.
func ExampleHold_Context() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")
	hold, err := lock.Acquire(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	results := make(chan error)
	go func() { results <- lock.Do(hold.Context(), func(context.Context) error { return nil }) }()
	fmt.Println("another goroutine:", <-results)
	fmt.Println("release:", hold.Release(context.Background()))
	fmt.Println("cause:", context.Cause(hold.Context()))
	// Output:
	// another goroutine: <nil>
	// release: <nil>
	// cause: lock released
}

func ExampleHold_Release() {
	client, end := embedded()
	defer end()
	ctx := context.Background()
	hold, err := client.NewLock("order:42").Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}

	released := make(chan error)
	go func() { released <- hold.Release(ctx) }() // by whoever has it
	fmt.Println(<-released)
	fmt.Println(hold.Release(ctx))
	// Output:
	// <nil>
	// rlock: release "order:42": not held
}

// Held is the last question before a step that cannot be taken back.
func ExampleHold_Held() {
	client, end := embedded()
	defer end()
	ctx := context.Background()
	hold, err := client.NewLock("order:42").Acquire(ctx, rlock.Lease(150*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(hold.Held())
	time.Sleep(150 * time.Millisecond)
	fmt.Println(hold.Held())
	// Output:
	// true
	// false
}

func ExampleHold_ValidUntil() {
	client, end := embedded()
	defer end()
	hold, err := client.NewLock("order:42").Acquire(context.Background(), rlock.Lease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}

	left := time.Until(hold.ValidUntil())
	fmt.Println(left > 5*time.Second, left <= 9*time.Second) // the lease less its margin of a tenth
	// Output: true true
}

func ExampleHold_Extend() {
	client, end := embedded()
	defer end()
	ctx := context.Background()
	hold, err := client.NewLock("order:42").Acquire(ctx, rlock.Lease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(hold.Extend(ctx, time.Minute)) // a minute from now
	fmt.Println(time.Until(hold.ValidUntil()) > 50*time.Second)
	fmt.Println(hold.Extend(ctx, time.Second)) // never shorter
	fmt.Println(time.Until(hold.ValidUntil()) > 50*time.Second)
	// Output:
	// <nil>
	// true
	// <nil>
	// true
}

func ExampleHold_Token() {
	client, end := embedded()
	defer end()
	hold, err := client.NewLock("order:42").Acquire(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hold.Token()) // this lock is not fenced
	// Output: 0
}

// Whoever wants to say more than "taken" finds how long the holder's lease would last.
func ExampleError() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")
	ann := ownerid.NewContext(context.Background(), ownerid.New())
	bob := ownerid.NewContext(context.Background(), ownerid.New())
	if err := lock.Lock(ann, rlock.Lease(time.Minute)); err != nil {
		log.Fatal(err)
	}

	_, err := lock.TryAcquire(bob)
	var taken *rlock.Error
	if errors.Is(err, rlock.ErrNotAcquired) && errors.As(err, &taken) {
		fmt.Println(taken.Op, taken.Lock, taken.TTL > 50*time.Second, taken.TTL <= time.Minute)
	}
	// Output: try acquire order:42 true true
}

// An ended wait says both: that the lock was not acquired, and what ended the wait.
func ExampleError_contextEnd() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")
	ann := ownerid.NewContext(context.Background(), ownerid.New())
	bob := ownerid.NewContext(context.Background(), ownerid.New())
	if err := lock.Lock(ann); err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(bob, 20*time.Millisecond)
	defer cancel()
	err := lock.Lock(ctx)
	fmt.Println(errors.Is(err, rlock.ErrNotAcquired), errors.Is(err, context.DeadlineExceeded))
	// Output: true true
}

// A loss is an error even if the work itself went well: somebody else may have been inside.
func ExampleError_lost() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")

	err := lock.Do(context.Background(), func(ctx context.Context) error {
		_, err := lock.ForceUnlock(ctx) // an operator, say
		return err
	})
	fmt.Println(errors.Is(err, rlock.ErrLost), errors.Is(err, rlock.ErrNotHeld))
	// Output: true true
}
