package rlock_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// With these set, this test binary is a process that takes a lock and then exits or works on until it is killed.
const (
	holderAddrEnv = "RLOCK_TEST_HOLDER_REDIS"
	holderLockEnv = "RLOCK_TEST_HOLDER_LOCK"
	holderExitEnv = "RLOCK_TEST_HOLDER_EXITS"

	holderWatchdog = 2 * time.Second
)

// init comes before the tests do, so that the process that holds runs none.
func init() {
	if addr := os.Getenv(holderAddrEnv); addr != "" {
		holdUntilTheEnd(addr, os.Getenv(holderLockEnv))
	}
}

// os.Exit runs no deferred call, so an Unlock that was deferred does not happen: the lock is left to its lease.
func TestOsExitLeavesTheLockToItsLease(t *testing.T) {
	t.Parallel()
	holder := startHolder(t, holderExitEnv+"=1")
	var exit *exec.ExitError
	require.ErrorAs(t, holder.Wait(), &exit)
	require.Equal(t, 3, exit.ExitCode())
	requireLeftToItsLease(t)
}

func TestAKilledHolderLeavesTheLockToItsLease(t *testing.T) {
	t.Parallel()
	holder := startHolder(t)
	raw := redistest.Shared(t).Raw(t)
	time.Sleep(holderWatchdog + holderWatchdog/2)
	require.Equal(t, 1, levelsIn(t, raw, t.Name()), "as long as it lives the lock is renewed")
	require.NoError(t, holder.Process.Kill())
	require.Error(t, holder.Wait())
	requireLeftToItsLease(t)
}

// requireLeftToItsLease asserts that the lock, whose holder is dead, is there still and free when its lease is over,
// although nobody announces that.
func requireLeftToItsLease(t testing.TB) {
	t.Helper()
	srv := redistest.Shared(t)
	c := newClient(t, srv.Client(t), rlock.WithFallbackLook(time.Hour))
	lock, ann := c.NewLock(t.Name()), someone()
	state, err := lock.State(ann)
	require.NoError(t, err)
	require.True(t, state.Locked, "nobody gave it back")
	require.Greater(t, state.TTL, time.Duration(0))
	require.LessOrEqual(t, state.TTL, holderWatchdog)

	asked := time.Now()
	require.NoError(t, lock.Lock(ann))
	assert.GreaterOrEqual(t, time.Since(asked), state.TTL-50*time.Millisecond, "not before the lease was over")
	assert.Less(t, time.Since(asked), state.TTL+3*time.Second, "and not long after")
	require.NoError(t, lock.Unlock(ann))
	requireNothingLeft(t, c)
}

// startHolder starts a process that holds the test's lock when startHolder returns.
func startHolder(t testing.TB, env ...string) *exec.Cmd {
	t.Helper()
	holder := exec.CommandContext(t.Context(), os.Args[0])
	holder.Env = append(os.Environ(), holderAddrEnv+"="+redistest.Shared(t).Addr(), holderLockEnv+"="+t.Name())
	holder.Env = append(holder.Env, env...)
	holder.Stderr = os.Stderr
	out, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	return holder
}

func holdUntilTheEnd(addr, name string) {
	ctx := context.Background()
	c, err := rlock.New(redis.NewClient(&redis.Options{Addr: addr}), rlock.WithWatchdogTimeout(holderWatchdog))
	if err == nil {
		err = c.NewLock(name).Lock(ctx)
		defer c.NewLock(name).Unlock(ctx) //nolint:errcheck // it never comes to that
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is held
	}
	fmt.Println("held")
	if os.Getenv(holderExitEnv) != "" {
		os.Exit(3)
	}
	select {}
}
