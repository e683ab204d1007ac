package pubsub_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/pubsub"
)

// A waiter looks once it is sure to be told of changes, and again after each
// token.
func ExampleHub() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = rdb.Close() }()
	ctx := context.Background()

	hub := pubsub.NewHub(func(ctx context.Context) *redis.PubSub { return rdb.Subscribe(ctx) },
		pubsub.Config{Logger: slog.Default()})
	defer func() { _ = hub.Close(ctx) }()

	rdb.Set(ctx, "door", "shut", 0)
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		sub := hub.Subscribe("door:opened")
		defer sub.Close()
		for !sub.Confirmed() || rdb.Get(ctx, "door").Val() == "shut" {
			<-sub.Wake() // beside ctx.Done and, when it says Polling, a timer
		}
		fmt.Println("through")
	}()

	rdb.Set(ctx, "door", "open", 0)
	rdb.Publish(ctx, "door:opened", "0")
	<-opened
	// Output: through
}
