package rlock_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
	"github.com/rlock-go/rlock/rlock"
)

// mishap is what happens to one command on its way.
type mishap byte

const (
	noMishap       mishap = iota
	replyLost             // it runs, and nobody is told
	requestLost           // it does not run, and nobody is told
	requestHeld           // the same, but the network may deliver it later
	requestTwice          // it runs twice, and the answer is that of the first run
	lineCut               // it runs, and the line is cut before the answer
	refusedForNow         // by a server that will soon serve again
	refusedForGood        // by one that will not
	mishapKinds
)

// silence is the read time-out of the Clients in the bubble.
const silence = time.Second

// wires stand between the Clients and the server. They note the commands that run scripts, and let a mishap happen to one.
type wires struct {
	mu     sync.Mutex
	next   mishap // for the next command, once so many more have passed
	skip   int
	struck mishap  // what has happened since arm
	sent   [][]any // what can be sent again, in order
}

func (w *wires) arm(m mishap, skip int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next, w.skip, w.struck = m, skip, noMishap
}

func (w *wires) happened() mishap {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.struck
}

// earlier is a command that was sent a while ago: the newest is 0.
func (w *wires) earlier(i int) []any {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.sent) == 0 {
		return nil
	}
	return w.sent[len(w.sent)-1-i%len(w.sent)]
}

// meet notes a command and says what happens to it.
func (w *wires) meet(cmd redis.Cmder) mishap {
	w.mu.Lock()
	defer w.mu.Unlock()
	if scriptOf(cmd.Args()) == "" {
		return noMishap
	}
	w.sent = append(w.sent, cmd.Args())
	m := w.next
	switch {
	case m == noMishap:
	case w.skip > 0:
		w.skip--
		return noMishap
	default:
		w.next, w.struck = noMishap, m
	}
	return m
}

func (w *wires) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *wires) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		run := func() error { return next(ctx, cmd) }
		switch w.meet(cmd) {
		case requestTwice:
			repeat := cmd.Clone()
			err := run()
			_ = next(ctx, repeat)
			return err
		case refusedForNow:
			return errLoading
		case refusedForGood:
			return errOutOfMemory
		case replyLost, requestLost, requestHeld, lineCut:
			return lose(w.happened(), run)
		default:
			return run()
		}
	}
}

// ProcessPipelineHook lets what is lost be lost for the whole pipeline, for it travels on one connection.
func (w *wires) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		worst, at := noMishap, 0
		for i, cmd := range cmds {
			if m := w.meet(cmd); m != noMishap {
				worst, at = m, i
			}
		}
		switch worst {
		case replyLost, requestLost, requestHeld, lineCut:
			err := lose(worst, func() error { return next(ctx, cmds) })
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		case requestTwice:
			repeat := cmds[at].Clone()
			err := next(ctx, cmds)
			_ = next(ctx, []redis.Cmder{repeat})
			return err
		case refusedForNow, refusedForGood: // one of them fails, the others run
			if rest := slices.Delete(slices.Clone(cmds), at, at+1); len(rest) > 0 {
				_ = next(ctx, rest)
			}
			cmds[at].SetErr(errLoading)
			return errLoading
		default:
			return next(ctx, cmds)
		}
	}
}

// lose runs what runs in spite of the mishap, and gives the error of the connection.
func lose(m mishap, run func() error) error {
	if m == replyLost || m == lineCut {
		_ = run()
	}
	if m == lineCut {
		return io.EOF
	}
	time.Sleep(silence)
	return &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
}

// refusal is an error of the server.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

const (
	errLoading     = refusal("LOADING Redis is loading the dataset in memory")
	errOutOfMemory = refusal("OOM command not allowed when used memory > 'maxmemory'.")
)

// scriptNames tells by its digest which script a command runs.
var scriptNames = func() map[string]string {
	names := map[string]string{}
	for _, call := range []lua.Call{
		lua.Acquire("k", "f", 1, time.Second, lua.Orphans{}), lua.Release("k", "c", "f", 0, 0), lua.Renew("k", "f", 0),
		lua.Force("k", "c", nil, 0), lua.Read("k"),
	} {
		names[fmt.Sprint(call.EvalSha(context.Background()).Args()[1])] = call.Name()
	}
	return names
}()

// scriptOf is the operation that a command is for, "" if it runs no script of ours.
func scriptOf(args []any) string {
	switch text := fmt.Sprint(args[min(1, len(args)-1)]); args[0] {
	case "evalsha":
		return scriptNames[text]
	case "eval":
		first, _, _ := strings.Cut(text, "\n")
		return strings.TrimPrefix(first, "-- rlock:")
	default:
		return ""
	}
}

// inBubble gives the test two Clients on an embedded Redis, in virtual time: what takes a minute takes no time, and when
// synctest.Wait returns, all that happens in the background has happened. Nothing of it may be left at the end.
func inBubble(t *testing.T, test func(t *testing.T, mini *miniredis.Miniredis, raw *redis.Client, w *wires, c [2]*rlock.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mini := miniredis.NewMiniRedis()
		mini.ClockTTL(true)
		began, w := time.Now(), &wires{}
		dial := func() *redis.Client {
			return redis.NewClient(&redis.Options{
				Addr: "127.0.0.1:1", ReadTimeout: silence, WriteTimeout: silence, Protocol: 2, DisableIdentity: true,
				Dialer: func(context.Context, string, string) (net.Conn, error) { return mini.Dial() },
			})
		}
		raw := dial()
		var clients [2]*rlock.Client
		for i := range clients {
			rdb := dial()
			rdb.AddHook(w)
			c, err := rlock.New(rdb, rlock.WithClock(func() time.Duration { return time.Since(began) }),
				rlock.WithLogger(slog.New(slog.DiscardHandler)))
			require.NoError(t, err)
			clients[i] = c
			defer func() {
				if err := c.Close(ended()); err != nil && !t.Failed() {
					t.Error(err)
				}
				_ = rdb.Close()
			}()
		}
		defer mini.Close()
		defer raw.Close()
		test(t, mini, raw, w, clients)
	})
}
