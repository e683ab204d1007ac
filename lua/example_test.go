package lua_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/lua"
)

// A call is built once, sent by whoever has a connection, and its reply decoded by the script's own decoder.
func Example() {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = rdb.Close() }()

	ctx := context.Background()
	for _, field := range []string{"app:c1~1", "app:c2~2"} {
		cmd := lua.Acquire("order:42", field, 1, 30*time.Second, lua.Orphans{}).Eval(ctx)
		if err := rdb.Process(ctx, cmd); err != nil {
			fmt.Println(err)
			return
		}
		answer, err := lua.DecodeAcquire(cmd.Val())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(field, "granted:", answer.Outcome == lua.Granted, "taken for", answer.TTL)
	}
	// Output:
	// app:c1~1 granted: true taken for 0s
	// app:c2~2 granted: false taken for 30s
}
