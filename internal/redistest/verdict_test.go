package redistest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
)

func TestCleanupLeavesNothing(t *testing.T) {
	redistest.Require(t)
	var pid int
	var dir string
	v := judge(t, func(v *verdict) {
		s := redistest.Start(v)
		pid, dir = s.PID(), filepath.Dir(s.Raw(v).ConfigGet(v.Context(), "dir").Val()["dir"])
	})
	assert.Empty(t, v.said())
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	assert.NoDirExists(t, dir)
}

func TestFailedTestShowsTheServersOutput(t *testing.T) {
	redistest.Require(t)
	v := judge(t, func(v *verdict) {
		redistest.Start(v)
		v.Errorf("it went wrong")
	})
	assert.Contains(t, v.said(), "Ready to accept connections")
}

func TestCrashFailsTheTest(t *testing.T) {
	redistest.Require(t)
	v := judge(t, func(v *verdict) {
		s := redistest.Start(v)
		client := s.Client(v, func(o *redis.Options) { o.MaxRetries = -1 })
		require.NoError(v, client.Ping(v.Context()).Err())
		require.NoError(v, syscall.Kill(s.PID(), syscall.SIGKILL))
		for s.PID() != 0 {
			runtime.Gosched()
		}
	})
	assert.True(t, v.failed)
	assert.Contains(t, v.said(), "ended by itself: signal: killed")
}

func TestShutdownByAClientIsNoCrash(t *testing.T) {
	redistest.Require(t)
	v := judge(t, func(v *verdict) {
		s := redistest.Start(v)
		s.Client(v, func(o *redis.Options) { o.MaxRetries = -1 }).ShutdownNoSave(v.Context())
		for s.PID() != 0 {
			runtime.Gosched()
		}
	})
	assert.Empty(t, v.said())
}

func TestMisuseFailsTheTest(t *testing.T) {
	redistest.Require(t)
	for name, misuse := range map[string]struct {
		do   func(t testing.TB)
		says string
	}{
		"unknown directive": {func(t testing.TB) { redistest.Start(t, redistest.Config("nonsense", "1")) }, "nonsense"},
		"no such binary":    {func(t testing.TB) { redistest.Start(t, redistest.Executable("/no/server")) }, "/no/server"},
		"nothing to keep":   {func(t testing.TB) { redistest.Start(t).Restart(true) }, "AppendOnly"},
		"pause when down":   {func(t testing.TB) { s := redistest.Start(t); s.Stop(); s.Pause() }, "down"},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(t, func(v *verdict) { misuse.do(v) })
			assert.True(t, v.failed)
			assert.Contains(t, v.said(), misuse.says)
		})
	}
}

func TestMissingServerIsSkippedOrRefused(t *testing.T) {
	t.Setenv("RLOCK_REDIS_SERVER", "/no/server")
	for demand, skips := range map[string]bool{"": true, "1": false} {
		t.Setenv("RLOCK_REQUIRE_REDIS", demand)
		for name, call := range map[string]func(testing.TB){
			"require": redistest.Require,
			"start":   func(t testing.TB) { redistest.Start(t) },
		} {
			v := judge(t, func(v *verdict) { call(v) })
			assert.Equal(t, skips, v.skipped, name)
			assert.Equal(t, !skips, v.failed, name)
			assert.Contains(t, v.said(), "/no/server")
		}
	}
}

func TestOldServerSkips(t *testing.T) {
	t.Setenv("RLOCK_REQUIRE_REDIS", "1")
	server := filepath.Join(t.TempDir(), "redis-server")
	t.Setenv("RLOCK_REDIS_SERVER", server)
	for said, skips := range map[string]bool{
		"Redis server v=6.2.5 sha=00000000:0":  true,
		"Redis server v=7.0.15 sha=00000000:0": true,
		"Redis server v=7.2.0 sha=00000000:0":  false,
		"Valkey server v=8.1.8 sha=00000000:1": false,
		"Something else":                       true,
	} {
		require.NoError(t, os.WriteFile(server, []byte("#!/bin/sh\necho '"+said+"'\n"), 0o700))
		v := judge(t, func(v *verdict) { redistest.RequireVersion(v, 7, 2) })
		assert.Equal(t, skips, v.skipped, said)
	}
	require.NoError(t, os.WriteFile(server, []byte("#!/bin/sh\nexit 1\n"), 0o700))
	assert.True(t, judge(t, func(v *verdict) { redistest.RequireVersion(v, 7, 2) }).failed)
}

func TestServerBuiltWithoutTLSSkips(t *testing.T) {
	t.Setenv("RLOCK_REQUIRE_REDIS", "1")
	for _, complaint := range []string{">>> 'tls-port 1'", "# Failed finding TLS support."} {
		server := filepath.Join(t.TempDir(), "redis-server")
		script := fmt.Sprintf("#!/bin/sh\necho %q\nexit 1\n", complaint)
		require.NoError(t, os.WriteFile(server, []byte(script), 0o700))
		v := judge(t, func(v *verdict) { redistest.Start(v, redistest.Executable(server), redistest.TLS()) })
		assert.True(t, v.skipped, v.said())
		assert.Contains(t, v.said(), "speaks no TLS")
	}
}

func TestSkipIsLoud(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^(TestTwoServersShareNothing|TestServerKeepsToItself)$")
	cmd.Env = append(os.Environ(), "RLOCK_REDIS_SERVER=/no/server", "RLOCK_REQUIRE_REDIS=")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run())
	assert.Equal(t, 2, strings.Count(out.String(), "SKIPPED, no redis-server"))
	assert.Equal(t, 1, strings.Count(errs.String(), "WARNING: no redis-server"))
}

// verdict stands in for a test, and keeps what is said about it.
type verdict struct {
	testing.TB
	mu              sync.Mutex
	failed, skipped bool
	text            strings.Builder
	cleanups        []func()
}

// judge runs the function as if it were a test, cleanups included.
func judge(t *testing.T, test func(*verdict)) *verdict {
	t.Helper()
	v := &verdict{TB: t}
	v.run(func() { test(v) })
	for _, cleanup := range slices.Backward(v.cleanups) {
		v.run(cleanup)
	}
	return v
}

func (v *verdict) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (v *verdict) say(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(&v.text, format+"\n", args...)
}

func (v *verdict) said() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text.String()
}

func (v *verdict) Helper()                      {}
func (v *verdict) Failed() bool                 { return v.failed }
func (v *verdict) Cleanup(f func())             { v.cleanups = append(v.cleanups, f) }
func (v *verdict) Logf(f string, args ...any)   { v.say(f, args...) }
func (v *verdict) Errorf(f string, args ...any) { v.failed = true; v.say(f, args...) }
func (v *verdict) Fatalf(f string, args ...any) { v.Errorf(f, args...); runtime.Goexit() }
func (v *verdict) Fatal(args ...any)            { v.Fatalf("%s", fmt.Sprint(args...)) }
func (v *verdict) FailNow()                     { v.failed = true; runtime.Goexit() }
func (v *verdict) Skipf(f string, args ...any)  { v.skipped = true; v.say(f, args...); runtime.Goexit() }
