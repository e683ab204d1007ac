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

// The lock is given back however the function ends.
func ExampleLock_Do() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")

	err := lock.Do(context.Background(), func(ctx context.Context) error {
		// ctx ends with the hold: hand it to whatever must stop when the lock is lost.
		return fmt.Errorf("no funds")
	})
	fmt.Println(err)
	fmt.Println(lock.State(context.Background()))
	// Output:
	// no funds
	// {false  0 0s} <nil>
}

func ExampleLock_Acquire() {
	client, end := embedded()
	defer end()

	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // bounds the wait
	defer cancel()
	hold, err := client.NewLock("order:42").Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hold.Held())
	fmt.Println(hold.Release(ctx))
	// Output:
	// true
	// <nil>
}

func ExampleLock_TryAcquire() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")
	ann := ownerid.NewContext(context.Background(), ownerid.New())
	bob := ownerid.NewContext(context.Background(), ownerid.New())

	hold, err := lock.TryAcquire(ann)
	fmt.Println(hold.Held(), err)
	hold, err = lock.TryAcquire(bob)
	fmt.Println(hold == nil, err != nil)
	// Output:
	// true <nil>
	// true true
}

func ExampleLock_Lock() {
	client, end := embedded()
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()

	for range 2 { // the same goroutine, so the second time it is inside already
		if err := lock.Lock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	state, err := lock.State(ctx)
	fmt.Println(state.Holds, err)
	// Output: 2 <nil>
}

func ExampleLock_TryLock() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")
	ann := ownerid.NewContext(context.Background(), ownerid.New())
	bob := ownerid.NewContext(context.Background(), ownerid.New())

	fmt.Println(lock.TryLock(ann))
	fmt.Println(lock.TryLock(bob))
	fmt.Println(lock.TryLock(bob, rlock.Wait(20*time.Millisecond)))
	// Output:
	// true <nil>
	// false <nil>
	// false <nil>
}

func ExampleLock_Unlock() {
	client, end := embedded()
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}

	ended, cancel := context.WithCancel(ctx)
	cancel()
	fmt.Println(lock.Unlock(ended)) // giving back cannot be cancelled
	err := lock.Unlock(ctx)
	fmt.Println(errors.Is(err, rlock.ErrNotHeld)) // one too many
	// Output:
	// <nil>
	// true
}

// Ported code finds its hold by the owner: to hand its context on, or to ask whether the lock is still there.
func ExampleLock_Held() {
	client, end := embedded()
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()

	_, held := lock.Held(ctx)
	fmt.Println("before:", held)
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	hold, held := lock.Held(ctx)
	fmt.Println("inside:", held, hold.Context().Err())
	err := lock.Unlock(ctx)
	fmt.Println("after:", err, context.Cause(hold.Context()))
	// Output:
	// before: false
	// inside: true <nil>
	// after: <nil> lock released
}

// An operator's last resort: the holder is told, but may be in the middle of its work.
func ExampleLock_ForceUnlock() {
	client, end := embedded()
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}

	fmt.Println(lock.ForceUnlock(ctx))
	fmt.Println(lock.ForceUnlock(ctx))
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// true <nil>
	// false <nil>
	// rlock: unlock "order:42": lock lost: unlocked by force
}

func ExampleLock_State() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")
	ann := ownerid.NewContext(context.Background(), ownerid.New())
	bob := ownerid.NewContext(context.Background(), ownerid.New())
	if err := lock.Lock(ann); err != nil {
		log.Fatal(err)
	}

	for _, who := range []context.Context{ann, bob} {
		state, err := lock.State(who)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(state.Locked, state.Holds, state.TTL > 29*time.Second)
	}
	// Output:
	// true 1 true
	// true 0 true
}

func ExampleLock_Name() {
	client, end := embedded(rlock.WithKeyPrefix("shop:"))
	defer end()
	fmt.Println(client.NewLock("order:42").Name())
	// Output: order:42
}

func ExampleWait() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")
	ann := ownerid.NewContext(context.Background(), ownerid.New())
	bob := ownerid.NewContext(context.Background(), ownerid.New())
	if err := lock.Lock(ann); err != nil {
		log.Fatal(err)
	}

	began := time.Now()
	got, err := lock.TryLock(bob, rlock.Wait(50*time.Millisecond))
	fmt.Println(got, err, time.Since(began) >= 50*time.Millisecond)
	// Output: false <nil> true
}

// A fixed lease is not renewed: the lock is free when it is over, whatever became of its holder.
func ExampleLease() {
	client, end := embedded()
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()

	hold, err := lock.Acquire(ctx, rlock.Lease(200*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	<-hold.Context().Done() // a little before the lease ends in Redis
	fmt.Println(context.Cause(hold.Context()))
	fmt.Println(hold.Release(ctx))
	// Output:
	// lock lost: its lease is over
	// rlock: release "order:42": lock lost: its lease is over
}

// MaxHold is for work whose length nobody knows, but that is stuck if it takes this long.
func ExampleMaxHold() {
	client, end := embedded()
	defer end()

	err := client.NewLock("order:42").Do(context.Background(), func(ctx context.Context) error {
		<-ctx.Done() // stuck
		return nil
	}, rlock.MaxHold(200*time.Millisecond))
	fmt.Println(err)
	// Output: rlock: do "order:42": held for as long as MaxHold allows
}

func ExampleNonReentrant() {
	client, end := embedded()
	defer end()
	lock, ctx := client.NewLock("order:42", rlock.NonReentrant()), context.Background()

	fmt.Println(lock.Lock(ctx))
	fmt.Println(lock.Lock(ctx))
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// <nil>
	// rlock: lock "order:42": held by this owner already, and the lock is not reentrant
	// <nil>
}
