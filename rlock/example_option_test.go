package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// The label shows in Redis, in front of what makes this process unique.
func ExampleWithName() {
	client, end := embedded(rlock.WithName("billing-7"))
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}

	state, err := lock.State(ctx)
	fmt.Println(strings.HasPrefix(state.Owner, "billing-7-"), err)
	// Output: true <nil>
}

// Two applications on one Redis keep apart by prefix.
func ExampleWithKeyPrefix() {
	client, end := embedded(rlock.WithKeyPrefix("shop:"))
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()

	fmt.Println(lock.Lock(ctx)) // the key in Redis is shop:order:42
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// <nil>
	// <nil>
}

// A lock outlives a crashed holder by no more than this, and a holder that lives by as much as it likes.
func ExampleWithWatchdogTimeout() {
	client, end := embedded(rlock.WithWatchdogTimeout(time.Second))
	defer end()
	hold, err := client.NewLock("order:42").Acquire(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	time.Sleep(1500 * time.Millisecond) // the work
	fmt.Println(hold.Held(), hold.Release(context.Background()))
	// Output: true <nil>
}

func ExampleWithExplicitOwners() {
	client, end := embedded(rlock.WithExplicitOwners())
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()

	fmt.Println(lock.Lock(ctx))
	fmt.Println(lock.Lock(ownerid.NewContext(ctx, ownerid.New())))
	// Output:
	// rlock: lock "order:42": the context carries no owner
	// <nil>
}

// What an operator would want to know goes to the logger; success is silent.
func ExampleWithLogger() {
	plain := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "owner" {
				return slog.Attr{} // not the same at each run
			}
			return a
		},
	})
	client, end := embedded(rlock.WithLogger(slog.New(plain)))
	defer end()
	lock, ctx := client.NewLock("order:42"), context.Background()
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := lock.ForceUnlock(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: level=WARN msg="rlock: lock lost" lock=order:42 cause="lock lost: unlocked by force"
}

// While Redis does not answer, an operation goes on trying for this long: a failover costs time and nothing else. After
// that the answer is the transport's error, and not that the lock is taken.
func ExampleWithRetryBudget() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nobody there
	defer rdb.Close()
	client, err := rlock.New(rdb, rlock.WithRetryBudget(50*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background())

	_, err = client.NewLock("order:42").TryLock(context.Background())
	fmt.Println(err != nil, errors.Is(err, rlock.ErrNotAcquired))
	// Output: true false
}
