// Start: a client is made once per process and closed before the redis client under it.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/rlock"
)

func run(ctx context.Context, addr string) error {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = rdb.Close() }()
	locks, err := rlock.New(rdb, rlock.WithName("billing"))
	if err != nil {
		return err
	}
	defer func() { _ = locks.Close(ctx) }() // before rdb; it waits for the holders as long as ctx allows

	return locks.NewLock("order:42").Do(ctx, func(ctx context.Context) error {
		fmt.Println("nobody else is in here")
		return ctx.Err() // ctx ends when the lock is lost
	}, rlock.Wait(2*time.Second))
}

func main() {
	server, err := miniredis.Run() // an embedded Redis, so that the example runs anywhere
	if err != nil {
		log.Fatalln(err)
	}
	defer server.Close()
	server.ClockTTL(true) // in miniredis time runs only on request
	if err := run(context.Background(), server.Addr()); err != nil {
		log.Println(err)
	}
}
