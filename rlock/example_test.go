package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// A call chain that locks the same order twice: refund is also called by others, so it locks for itself.
func Example() {
	client, end := embedded()
	defer end()

	refund := func(ctx context.Context, order string) error {
		return client.NewLock(order).Do(ctx, func(context.Context) error {
			fmt.Println("refund", order)
			return nil
		})
	}
	settle := func(ctx context.Context, order string) error {
		return client.NewLock(order).Do(ctx, func(ctx context.Context) error {
			fmt.Println("settle", order)
			return refund(ctx, order) // ctx says who holds the lock
		})
	}
	fmt.Println(settle(context.Background(), "order:42"))
	// Output:
	// settle order:42
	// refund order:42
	// <nil>
}

// RLock code from Java keeps its shape: the goroutine is the owner, as the thread is there.
func Example_portedFromJava() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")

	settle := func(ctx context.Context) (err error) {
		if err := lock.Lock(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lock.Unlock(ctx)) }()
		return nil // the work
	}
	fmt.Println(settle(context.Background()))
	// Output: <nil>
}

// A server that serves many requests on one goroutine makes each of them an owner of its own.
func Example_ownerPerRequest() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")

	serve := func(ctx context.Context) bool {
		ctx = ownerid.NewContext(ctx, ownerid.New()) // in a middleware
		got, err := lock.TryLock(ctx)
		return got && err == nil // and the first request goes on without having unlocked
	}
	fmt.Println(serve(context.Background()), serve(context.Background()))
	// Output: true false
}

// Workers that are to exclude each other must not share the owner that the context carries.
func Example_fanOut() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")

	fmt.Println(lock.Do(context.Background(), func(ctx context.Context) error {
		results := make(chan bool)
		worker := func(ctx context.Context) {
			got, err := lock.TryLock(ctx)
			if got {
				err = lock.Unlock(ctx)
			}
			results <- got && err == nil
		}
		go worker(ctx)
		fmt.Println("with the owner:", <-results)
		go worker(ownerid.Without(ctx))
		fmt.Println("without:", <-results)
		return nil
	}))
	// Output:
	// with the owner: true
	// without: false
	// <nil>
}

func ExampleNew() {
	server, err := miniredis.Run() // your Redis
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	client, err := rlock.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Close(context.Background()))
	// Output: <nil>
}

// A bad setting is an error that names it, and none is ever replaced by another one silently.
func ExampleNew_badSetting() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}) // New does not connect
	defer rdb.Close()
	_, err := rlock.New(rdb, rlock.WithWatchdogTimeout(30)) // 30 ns
	fmt.Println(err)
	// Output: rlock: New: WithWatchdogTimeout: 30ns is shorter than 1ms
}

func ExampleClient_NewLock() {
	client, end := embedded()
	defer end()
	ctx := context.Background()

	one, same := client.NewLock("order:42"), client.NewLock("order:42")
	fmt.Println(one.Lock(ctx), same.Unlock(ctx))
	fmt.Println(client.NewLock("").Lock(ctx))
	// Output:
	// <nil> <nil>
	// rlock: lock "": name is empty
}

// Close tells those who still hold, and waits for them.
func ExampleClient_Close() {
	client, end := embedded()
	defer end()
	lock := client.NewLock("order:42")
	hold, err := lock.Acquire(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	worked := make(chan error)
	go func() {
		<-hold.Context().Done()
		fmt.Println(context.Cause(hold.Context()))
		worked <- hold.Release(context.Background())
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	closed := make(chan error)
	go func() { closed <- client.Close(ctx) }()
	fmt.Println(<-worked, <-closed)
	fmt.Println(lock.Lock(ctx))
	// Output:
	// client closed
	// <nil> <nil>
	// rlock: lock "order:42": client closed
}

// embedded gives a Client on an embedded Redis whose clock runs, and what ends both. It stands for rlock.New on yours.
func embedded(opts ...rlock.Option) (client *rlock.Client, end func()) {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	server.ClockTTL(true)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	client, err = rlock.New(rdb, opts...)
	if err != nil {
		log.Fatal(err)
	}
	return client, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_ = client.Close(ctx) // some examples hold until the end
		_ = rdb.Close()
		server.Close()
	}
}
