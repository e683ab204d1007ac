package rlocktest_test

import (
	"context"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/lua"
	"github.com/rlock-go/rlock/rlock"
	"github.com/rlock-go/rlock/rlocktest"
)

// P1, P7: time runs in the double by itself. A dead stranger's lease gets shorter as fast as the clock goes, and when it is over a
// waiter is in, without a message; a test about expiry passes for the right reason.
func TestFault_Z1_LeasesRunOutByThemselves(t *testing.T) {
	t.Parallel()
	const lease = 400 * time.Millisecond
	srv := rlocktest.New(t)
	rdb, ctx := srv.Redis(), someone(t.Context())
	require.NoError(t, rdb.HSet(ctx, "order:42", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", 1).Err())
	before := time.Now()
	require.NoError(t, rdb.PExpire(ctx, "order:42", lease).Err())
	after := time.Now()
	in := make(chan time.Time, 1)
	lock := srv.Client().NewLock("order:42")
	go func() {
		if assert.NoError(t, lock.Lock(ctx)) {
			in <- time.Now()
		}
	}()
	for { // until it is over
		asked := time.Now()
		ttl := rdb.PTTL(ctx, "order:42").Val()
		told := time.Now()
		if told.Sub(before) >= lease || len(in) > 0 {
			break
		}
		require.GreaterOrEqual(t, ttl, lease-told.Sub(before)-time.Millisecond)
		require.LessOrEqual(t, ttl, lease-asked.Sub(after)+time.Millisecond)
	}
	within(t, func(soon context.Context) {
		select {
		case at := <-in:
			assert.GreaterOrEqual(t, at.Sub(before), lease, "before the lease was over")
		case <-soon.Done():
		}
	})
	require.NoError(t, lock.Unlock(ctx))
}

// P1: scripts that compare TIME with a time-out, and keys that expire, go by one clock; a forced unlock is void when it is late.
func TestFault_Z2_TIMEKeepsPaceWithTheLeases(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	rdb, ctx := srv.Redis(), t.Context()
	require.NoError(t, rdb.HSet(ctx, "order:42", "stranger:1", 1).Err())
	require.NoError(t, rdb.PExpire(ctx, "order:42", time.Minute).Err())
	first, firstTook := look(t, rdb)
	for passed := time.Duration(0); passed < 200*time.Millisecond; {
		next, took := look(t, rdb)
		passed = time.Duration(next.At-first.At) * time.Microsecond
		// Unlike in Redis, time goes on within a script.
		require.InDelta(t, passed, first.TTL-next.TTL, float64(firstTook+took+2*time.Millisecond), "two clocks")
	}
	now := func() int64 { seen, _ := look(t, rdb); return seen.At }
	force := func(notAfter int64) bool {
		cmd := lua.Force("order:42", "channel", []string{"stranger:1"}, notAfter).Eval(ctx)
		require.NoError(t, rdb.Process(ctx, cmd))
		removed, err := lua.DecodeForce(cmd.Val())
		require.NoError(t, err)
		return removed
	}
	assert.False(t, force(now()-1), "it is too late")
	assert.True(t, force(now()+time.Minute.Microseconds()))
}

// P5, P6: time is not the tests' to turn: what they stage lies within it. A hold outlives many leases of the double's as it would
// outlive those of a server, and its contexts end when it does.
func TestFault_Z2_RenewalsAndExpiriesGoByOneClock(t *testing.T) {
	t.Parallel()
	const lease = 600 * time.Millisecond
	srv := rlocktest.New(t, rlock.WithWatchdogTimeout(lease))
	renewed := acquire(t, srv.Client(), "order:42")
	fixed := acquire(t, srv.Client(), "order:43", rlock.Lease(lease))
	require.ErrorIs(t, awaitEnd(t, fixed), rlock.ErrLost)
	assert.Positive(t, srv.Redis().PTTL(t.Context(), "order:43").Val(), "told before another can get in")
	require.Eventually(t, func() bool { return srv.Redis().Exists(t.Context(), "order:43").Val() == 0 }, soon, time.Millisecond)
	begun := time.Now()
	for time.Since(begun) < 2*lease {
		require.Positive(t, srv.Redis().PTTL(t.Context(), "order:42").Val())
		require.NoError(t, renewed.Context().Err())
		time.Sleep(5 * time.Millisecond) // what is shown is that time passes and nothing happens
	}
	require.NoError(t, renewed.Release(t.Context()))
	require.ErrorIs(t, fixed.Release(t.Context()), rlock.ErrLost)
}

// P1: what the double cannot do it refuses or does by half; this is the list. Whoever finds it shorter one day may test more on it.
func TestFault_Z3_WhatTheDoubleLacks(t *testing.T) {
	t.Parallel()
	srv := rlocktest.New(t)
	rdb, ctx := srv.Redis(), t.Context()
	for _, words := range []string{
		"CLIENT KILL TYPE pubsub", "CLIENT PAUSE 100", "CONFIG SET maxmemory 1", "DEBUG SLEEP 0", "REPLICAOF NO ONE", "ROLE",
		"SSUBSCRIBE a", "SPUBLISH a b", "ACL LIST", "FUNCTION LIST", "CLUSTER FAILOVER", "FAILOVER",
	} {
		var args []any
		for word := range strings.FieldsSeq(words) {
			args = append(args, word)
		}
		assert.Error(t, rdb.Do(ctx, args...).Err(), words)
	}
	acks, err := rdb.Do(ctx, "WAIT", 1, 10).Int()
	if err == nil {
		assert.Zero(t, acks, "no replica has acknowledged anything")
	}
}

// P1: because of that, exclusion, failure and wake-ups are tested on real servers. In the rooms of the engine the double serves the
// examples, and the fuzzer that compares single steps with a reference; a room that runs scripts on it runs them on a server too.
func TestFault_Z3_SafetyIsTestedOnRealServers(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{
		"rlock": {"example_", "fuzz_"}, "pubsub": {"example_"}, "internal/wire": nil, "internal/stress": nil,
		"lua": {"example_", "backend_"}, // see onEach there
	}
	for room, prefixes := range allowed {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(room), "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, room)
		for _, file := range files {
			for _, prefix := range prefixes {
				if strings.HasPrefix(filepath.Base(file), prefix) {
					file = ""
					break
				}
			}
			if file != "" {
				assert.False(t, importsADouble(t, file), file)
			}
		}
	}
}

func importsADouble(t *testing.T, file string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if strings.HasPrefix(path, "github.com/alicebob/miniredis") || strings.HasSuffix(path, "rlock-go/rlock/rlocktest") {
			return true
		}
	}
	return false
}

// look also says how long it took.
func look(t *testing.T, rdb *redis.Client) (lua.Contents, time.Duration) {
	t.Helper()
	begun := time.Now()
	cmd := lua.Read("order:42").Eval(t.Context())
	require.NoError(t, rdb.Process(t.Context(), cmd))
	contents, err := lua.DecodeRead(cmd.Val())
	require.NoError(t, err)
	return contents, time.Since(begun)
}
