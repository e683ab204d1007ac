package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/rlock"
)

// stage is where the stories are performed: a Redis, and the page they are written to.
type stage struct {
	ctx    context.Context //nolint:containedctx // that of the whole performance
	out    io.Writer
	rdb    *redis.Client
	prefix string // in front of every key, so that no key of the user's is met

	clients []*rlock.Client // of the chapter that is being told
	names   []string        // of the locks used in it
	headed  bool            // its columns have got their titles
}

func newStage(ctx context.Context, out io.Writer, rdb *redis.Client) *stage {
	return &stage{ctx: ctx, out: out, rdb: rdb, prefix: "rlock-demo:" + rand.Text()[:8] + ":"}
}

// perform tells one chapter, and clears the stage after it, also when it went wrong or was interrupted.
func (s *stage) perform(number int, c chapter) (err error) {
	s.printf("\n%d. %s\n   %s\n\n", number, c.title, c.about)
	s.headed = false
	err = c.tell(s)
	if s.ctx.Err() != nil {
		err = errInterrupted
	}
	if gone := s.clear(err == nil); err == nil {
		err = gone
	}
	if err != nil {
		return fmt.Errorf("in story %d, %s: %w", number, c.title, err)
	}
	return nil
}

var errInterrupted = errors.New("interrupted")

// clientTime is how long a Client tries to reach a Redis that stops answering in the middle of the demo, and how long it
// may take to close.
const clientTime = 3 * time.Second

// client makes a Client, which stands for a process of its own.
func (s *stage) client(label string, opts ...rlock.Option) (*rlock.Client, error) {
	c, err := rlock.New(s.rdb, append([]rlock.Option{
		rlock.WithName(label), rlock.WithKeyPrefix(s.prefix),
		rlock.WithRetryBudget(clientTime), rlock.WithLogger(slog.New(slog.DiscardHandler)),
	}, opts...)...)
	if err == nil {
		s.clients = append(s.clients, c)
	}
	return c, err
}

// lock is a lock as the process of that label sees it.
func (s *stage) lock(label, name string, opts ...rlock.Option) (*rlock.Lock, error) {
	c, err := s.client(label, opts...)
	if err != nil {
		return nil, err
	}
	s.names = append(s.names, name)
	return c.NewLock(name), nil
}

// clear ends the chapter's Clients. After a chapter that went well nothing may be left; after another one what is left is
// removed.
func (s *stage) clear(wentWell bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), clientTime)
	defer cancel()
	if !wentWell {
		cancelled, stop := context.WithCancel(ctx)
		stop()
		_ = s.close(cancelled) // who holds a lock will not give it back any more
		return s.rdb.Del(ctx, s.keys()...).Err()
	}
	err := s.close(ctx)
	left, errLeft := s.rdb.Exists(ctx, s.keys()...).Result()
	if left > 0 {
		errLeft = fmt.Errorf("%d of the keys %q are still there", left, s.keys())
	}
	s.names = nil
	return errors.Join(err, errLeft)
}

func (s *stage) close(ctx context.Context) error {
	var errs []error
	for _, c := range s.clients {
		errs = append(errs, c.Close(ctx))
	}
	s.clients = nil
	return errors.Join(errs...)
}

func (s *stage) keys() []string {
	keys := make([]string, len(s.names))
	for i, name := range s.names {
		keys[i] = s.prefix + name
	}
	return keys
}

// pause lets time pass, less if the demo is interrupted.
func (s *stage) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-s.ctx.Done():
		return errInterrupted
	}
}

func (s *stage) printf(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }
