package rlock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/lua"
	"github.com/rlock-go/rlock/rlock"
)

// P2, P3, P5, P8: something in between answers in the server's place what no script says. It proves nothing: a grant is none, a
// level counts as it was told, what was given back is free soon, and nobody has lost anything.
func TestFault_C2_AnAnswerThatNoScriptGivesProvesNothing(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, rdb, liar := srv.Raw(t), srv.Client(t), &liar{}
	rdb.AddHook(liar)
	c := newClient(t, rdb, rlock.WithWatchdogTimeout(time.Second))
	lock, ann := c.NewLock(t.Name()), someone()
	counts := func(n int) {
		eventually(t, func() bool { return levelsIn(t, raw, t.Name()) == n }, fmt.Sprint(n, " levels"))
	}
	lied := func(script string, err error) {
		t.Helper()
		require.ErrorContains(t, err, "unexpected reply")
		require.NotErrorIs(t, err, rlock.ErrNotHeld)
		require.NotErrorIs(t, err, rlock.ErrNotAcquired)
		require.Empty(t, liar.script.Load(), script)
	}
	for _, lie := range []any{"OK", int64(-17), int64(3), []any{int64(-2)}} {
		liar.tell("acquire", lie)
		if lie != int64(3) { // which is a TTL, and a waiter looks again
			lied("acquire", lock.Lock(ann))
			counts(0)
		}
		require.NoError(t, lock.Lock(ann))
		hold, _ := lock.Held(ann)
		told := hold.Context()
		for depth := range 2 {
			require.NoError(t, lock.Lock(ann))
			counts(depth + 2)
		}
		liar.tell("release", lie)
		lied("release", lock.Unlock(ann))
		counts(2)
		liar.tell("renew", lie)
		eventually(t, func() bool { return liar.script.Load() == "" }, "renewed")
		before := hold.ValidUntil()
		eventually(t, func() bool { return hold.ValidUntil().After(before) }, "renewed again")
		require.NoError(t, told.Err(), "a false alarm")
		require.NoError(t, lock.Unlock(ann))
		liar.tell("release", lie)
		lied("release", lock.Unlock(ann))
		counts(0)
	}
	requireNothingLeft(t, c)
}

// P2: the same of a release that never reached the server. It is sent again until an answer says that it has run.
func TestFault_C2_AReleaseThatSomethingElseAnsweredIsSentAgain(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	raw, rdb, liar := srv.Raw(t), srv.Client(t), &liar{}
	rdb.AddHook(liar)
	liar.keeps.Store(true)
	c := newClient(t, rdb)
	lock, ann := c.NewLock(t.Name()), someone()
	for levels := range 3 {
		for range levels + 1 {
			require.NoError(t, lock.Lock(ann))
		}
		for left := levels; left >= 0; left-- {
			liar.tell("release", "OK")
			require.ErrorContains(t, lock.Unlock(ann), "unexpected reply")
			eventually(t, func() bool { return levelsIn(t, raw, t.Name()) == left }, "long before the lease ends")
		}
	}
	requireNothingLeft(t, c)
}

// liar answers the next command of one script in the server's place, after it has run, or without letting it through.
type liar struct {
	script atomic.Value // of a string; empty when it was told
	lie    atomic.Value // of a []any with one element
	keeps  atomic.Bool  // the command to itself
}

func (l *liar) tell(script string, lie any) {
	l.lie.Store([]any{lie})
	l.script.Store(script)
}

// answer lets a command through and answers it, if it is the one to lie about.
func (l *liar) answer(cmd redis.Cmder, through func() error) error {
	if !l.keeps.Load() {
		if err := through(); err != nil { // NOSCRIPT, perhaps
			return err
		}
		through = func() error { return nil }
	}
	own, ok := cmd.(*lua.Cmd)
	if !ok || !l.script.CompareAndSwap(scriptOf(cmd.Args()), "") {
		return through()
	}
	own.SetVal(l.lie.Load().([]any)[0])
	return nil
}

func (l *liar) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *liar) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return l.answer(cmd, func() error { return next(ctx, cmd) })
	}
}

func (l *liar) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			_ = l.answer(cmd, cmd.Err)
		}
		return err
	}
}
