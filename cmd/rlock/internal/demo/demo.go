// Package demo tells what rlock does, in six short stories that run as they are told. Beside each step it prints what Redis
// holds at that moment, as a client that knows nothing of rlock sees it.
//
// It checks what it tells: a step that does not go as told ends the demo with an error. So it serves as a test too, of a
// machine and of a Redis.
package demo

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Embedded tells the stories on a Redis within this process.
func Embedded(ctx context.Context, out io.Writer) error {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		return fmt.Errorf("starting the embedded Redis: %w", err)
	}
	defer server.Close()
	server.ClockTTL(true) // else no lease ever ends in it
	rdb := redis.NewClient(&redis.Options{
		Addr: server.Addr(), DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { _ = rdb.Close() }()
	return tell(ctx, out, rdb, "a small Redis inside this command")
}

// On tells the stories on the Redis of that client. The keys it uses there are its own, and it leaves none behind.
func On(ctx context.Context, out io.Writer, rdb *redis.Client) error {
	return tell(ctx, out, rdb, "the Redis at "+rdb.Options().Addr)
}

// chapter is one of the stories.
type chapter struct {
	title string
	about string // what happens, for somebody who has never seen a reentrant lock
	tell  func(s *stage) error
}

var chapters = []chapter{nestedCalls, handedOn, ported, woken, kept, lost}

func tell(ctx context.Context, out io.Writer, rdb *redis.Client, where string) error {
	begun := time.Now()
	s := newStage(ctx, out, rdb)
	s.printf(opening, where, s.prefix)
	for i, c := range chapters {
		if err := s.perform(i+1, c); err != nil {
			return err
		}
	}
	s.printf("\nAll of it went as told, in %.1f s, and nothing is left of it in Redis.\n", time.Since(begun).Seconds())
	return nil
}

const opening = `rlock demo, on %s

A lock is one hash in Redis. It has a field for the one who is inside; the value says how many times; and the
hash expires: its time to live is the lease, after which the lock of a crashed holder is free again.

On the right of each step stands that hash as it is at that moment.
  shop-1a2b..:c1~1 x2   is client shop-1a2b.. (its random id, cut short here), owner c1, attempt no. 1: inside twice
The keys begin with %s which is left out below.
`
