// Package embedded gives the examples a Redis inside their own process, so that they run on a machine with nothing but Go.
package embedded

import (
	"context"
	"log"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/rlock"
)

// Client is a Client on an embedded Redis whose clock runs. stop ends both.
func Client(opts ...rlock.Option) (c *rlock.Client, stop func()) {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatalln("starting the embedded Redis:", err)
	}
	server.ClockTTL(true)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	c, err = rlock.New(rdb, opts...)
	if err != nil {
		log.Fatalln(err)
	}
	return c, func() {
		if err := c.Close(context.Background()); err != nil {
			log.Println(err)
		}
		_ = rdb.Close()
		server.Close()
	}
}
