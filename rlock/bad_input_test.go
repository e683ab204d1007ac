package rlock_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

func TestNewRefusesABadSetting(t *testing.T) {
	t.Parallel()
	rdb := unconnected(t)
	for name, bad := range map[string]struct {
		opt   rlock.Option
		names string
	}{
		"no option":            {nil, "an option is nil"},
		"no label":             {rlock.WithName(""), "WithName: the label is empty"},
		"label with a space":   {rlock.WithName("my app"), "WithName: ownerid: malformed label"},
		"label with a colon":   {rlock.WithName("a:b"), "WithName"},
		"label with a brace":   {rlock.WithName("{a}"), "WithName"},
		"label too long":       {rlock.WithName(strings.Repeat("l", 65)), "WithName"},
		"no time-out":          {rlock.WithWatchdogTimeout(0), "WithWatchdogTimeout: 0s is shorter than 1ms"},
		"negative time-out":    {rlock.WithWatchdogTimeout(-time.Second), "WithWatchdogTimeout: -1s"},
		"time-out below 1 ms":  {rlock.WithWatchdogTimeout(time.Millisecond - 1), "WithWatchdogTimeout"},
		"time-out for ever":    {rlock.WithWatchdogTimeout(math.MaxInt64), "WithWatchdogTimeout"},
		"no logger":            {rlock.WithLogger(nil), "WithLogger: the logger is nil"},
		"negative budget":      {rlock.WithRetryBudget(-1), "WithRetryBudget: -1ns is negative"},
		"budget beyond clocks": {rlock.WithRetryBudget(math.MaxInt64), "WithRetryBudget"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := rlock.New(rdb, bad.opt)
			require.Error(t, err)
			assert.Nil(t, c)
			assert.ErrorContains(t, err, "rlock: New: ")
			assert.ErrorContains(t, err, bad.names)
		})
	}
	_, err := rlock.New(rdb, rlock.WithName("a b"))
	assert.ErrorIs(t, err, ownerid.ErrMalformed)
}

func TestNewRefusesARedisThatLocksCannotLiveOn(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ReadTimeout: -1})
	t.Cleanup(func() { _ = cluster.Close() })
	for name, bad := range map[string]struct {
		rdb   redis.UniversalClient
		names string
	}{
		"none":                       {nil, "rdb is nil"},
		"none, with a type":          {(*redis.Client)(nil), "rdb is nil"},
		"no cluster":                 {(*redis.ClusterClient)(nil), "rdb is nil"},
		"a ring":                     {ring, "Ring"},
		"no ring":                    {(*redis.Ring)(nil), "Ring"},
		"reads that never end":       {unconnected(t, func(o *redis.Options) { o.ReadTimeout = -1 }), "ReadTimeout"},
		"reads without any deadline": {unconnected(t, func(o *redis.Options) { o.ReadTimeout = -2 }), "ReadTimeout"},
		"the same in a cluster":      {cluster, "ReadTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := rlock.New(bad.rdb)
			require.ErrorContains(t, err, "rlock: New: ")
			assert.ErrorContains(t, err, bad.names)
			assert.Nil(t, c)
		})
	}
}

func TestBadAcquireOptionsAreErrors(t *testing.T) {
	t.Parallel()
	c := newClient(t, unconnected(t)) // so whatever is not refused before any I/O fails otherwise
	lock := c.NewLock("order:42")
	for name, bad := range map[string]struct {
		opts  []rlock.AcquireOption
		names string
	}{
		"negative wait":      {[]rlock.AcquireOption{rlock.Wait(-1)}, "option Wait: -1ns is negative"},
		"no lease":           {[]rlock.AcquireOption{rlock.Lease(0)}, "option Lease: 0s is shorter than 1ms"},
		"negative lease":     {[]rlock.AcquireOption{rlock.Lease(-time.Second)}, "option Lease: -1s"},
		"lease below 1 ms":   {[]rlock.AcquireOption{rlock.Lease(999 * time.Microsecond)}, "option Lease: 999µs"},
		"lease beyond Redis": {[]rlock.AcquireOption{rlock.Lease(math.MaxInt64)}, "option Lease: 2562047h"},
		"no maximum":         {[]rlock.AcquireOption{rlock.MaxHold(0)}, "option MaxHold: 0s is shorter than 1ms"},
		"maximum for ever":   {[]rlock.AcquireOption{rlock.MaxHold(math.MaxInt64)}, "option MaxHold"},
		"two kinds of lease": {[]rlock.AcquireOption{rlock.Lease(time.Second), rlock.MaxHold(time.Second)}, "Lease and MaxHold"},
		"the same reversed":  {[]rlock.AcquireOption{rlock.MaxHold(time.Second), rlock.Lease(time.Second)}, "Lease and MaxHold"},
		"an option of none":  {[]rlock.AcquireOption{{}}, "zero"},
	} {
		t.Run(name, func(t *testing.T) {
			for op, err := range acquireByEveryVerb(lock, context.Background(), bad.opts...) {
				requireComplaint(t, err, op, "order:42", bad.names)
			}
		})
	}
	requireNothingLeft(t, c)
}

// Without any I/O: nothing listens where this Client's Redis should be.
func TestABadNameIsReportedByTheFirstVerb(t *testing.T) {
	t.Parallel()
	c := newClient(t, unconnected(t), rlock.WithKeyPrefix("shop:"))
	for op, err := range tryEveryVerb(c.NewLock(""), context.Background()) {
		requireComplaint(t, err, op, "", "name is empty")
	}
	requireNothingLeft(t, c)
}

func TestNoLockOptionIsReportedByTheFirstVerb(t *testing.T) {
	t.Parallel()
	c := newClient(t, unconnected(t))
	var lock *rlock.Lock
	require.NotPanics(t, func() { lock = c.NewLock("order:42", nil) })
	for op, err := range tryEveryVerb(lock, context.Background()) {
		requireComplaint(t, err, op, "order:42", "option is nil")
	}
}

func TestNoContextIsAnErrorOfEveryVerb(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock := c.NewLock(t.Name())
	for op, err := range tryEveryVerb(lock, nil) {
		requireComplaint(t, err, op, t.Name(), "context is nil")
	}
	hold, err := lock.Acquire(someone(), rlock.Lease(time.Minute))
	require.NoError(t, err)
	requireComplaint(t, hold.Extend(nil, time.Minute), "extend", t.Name(), "context is nil") //nolint:staticcheck // on purpose
	requireComplaint(t, hold.Release(nil), "release", t.Name(), "context is nil")            //nolint:staticcheck // on purpose
	assert.True(t, hold.Held(), "a call that says no does nothing")

	require.ErrorContains(t, c.Close(nil), "context is nil") //nolint:staticcheck // on purpose
	require.NoError(t, hold.Release(someone()), "nor was the client closed")
	assert.NoError(t, lock.Do(someone(), func(context.Context) error { return nil }))
}

func TestNoOwnerIsAnErrorOfEveryVerbThatAsksForOne(t *testing.T) {
	t.Parallel()
	c := newClient(t, unconnected(t), rlock.WithExplicitOwners(), rlock.WithRetryBudget(0))
	for op, err := range tryEveryVerb(c.NewLock("order:42"), context.Background()) {
		if op == "force unlock" { // which is nobody's in particular
			assert.NotErrorIs(t, err, rlock.ErrNoOwner)
			continue
		}
		requireComplaint(t, err, op, "order:42", "the context carries no owner")
		assert.ErrorIs(t, err, rlock.ErrNoOwner, op)
	}
	requireNothingLeft(t, c)
}

func TestWithExplicitOwnersAnOwnerIsEnough(t *testing.T) {
	t.Parallel()
	lock := newClient(t, redistest.Shared(t).Client(t), rlock.WithExplicitOwners()).NewLock(t.Name())
	require.NoError(t, lock.Do(someone(), func(ctx context.Context) error {
		require.NoError(t, lock.Lock(ctx))
		return lock.Unlock(ctx)
	}))
}

// Redisson puts the lock and its channel into different slots for such a name. On a cluster that cannot work; elsewhere
// it does, and a Java peer uses it.
func TestBracesThatBreakOnAClusterWorkElsewhere(t *testing.T) {
	t.Parallel()
	nodes := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}}) // nobody there: no I/O
	t.Cleanup(func() { _ = nodes.Close() })
	cluster, single := newClient(t, nodes), newClient(t, redistest.Shared(t).Client(t))
	for _, name := range []string{"{}" + t.Name(), "{" + t.Name(), t.Name() + "{", t.Name() + "{}x{y}", t.Name() + "}x"} {
		for op, err := range tryEveryVerb(cluster.NewLock(name), context.Background()) {
			requireComplaint(t, err, op, name, "braces")
		}
		assert.NoError(t, single.NewLock(name).Do(someone(), func(context.Context) error { return nil }), name)
	}
	for _, name := range []string{"plain", "{tag}:x", "x:{tag}"} {
		_, err := cluster.NewLock(name).TryAcquire(ended())
		assert.NotContains(t, err.Error(), "braces", name)
	}
	_, err := newClient(t, nodes, rlock.WithKeyPrefix("{")).NewLock("order:42").TryAcquire(someone())
	require.ErrorContains(t, err, "braces", "the prefix is a part of it")
	requireNothingLeft(t, cluster)
}

func TestOddNamesAreNames(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	for _, odd := range []string{" ", "\x00", "ключ", "a\r\nb", "*", strings.Repeat("long", 10_000), "~", ":"} {
		name := t.Name() + odd
		require.NoError(t, c.NewLock(name).Do(someone(), func(ctx context.Context) error {
			state, err := c.NewLock(name).State(ctx)
			assert.Equal(t, 1, state.Holds)
			return err
		}))
	}
}

// A function that is none is misuse of memory: the program is wrong, and no error could be handled by it.
func TestDoWithoutAFunctionPanicsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newClient(t, redistest.Shared(t).Client(t))
	lock, ctx := c.NewLock(t.Name()), someone()
	require.Panics(t, func() { _ = lock.Do(ctx, nil) })
	state, err := lock.State(ctx)
	require.NoError(t, err)
	assert.False(t, state.Locked)
	requireNothingLeft(t, c)
}

// acquireByEveryVerb gives what each verb that takes the lock answers.
func acquireByEveryVerb(l *rlock.Lock, ctx context.Context, opts ...rlock.AcquireOption) map[string]error {
	errs := map[string]error{"lock": l.Lock(ctx, opts...)}
	_, errs["try lock"] = l.TryLock(ctx, opts...)
	_, errs["acquire"] = l.Acquire(ctx, opts...)
	_, errs["try acquire"] = l.TryAcquire(ctx, opts...)
	errs["do"] = l.Do(ctx, func(context.Context) error { panic("called without the lock") }, opts...)
	return errs
}

// tryEveryVerb gives what each verb of a lock answers, after the checks of the one that answers by false.
func tryEveryVerb(l *rlock.Lock, ctx context.Context) map[string]error {
	errs := acquireByEveryVerb(l, ctx)
	errs["unlock"] = l.Unlock(ctx)
	_, errs["force unlock"] = l.ForceUnlock(ctx)
	_, errs["state"] = l.State(ctx)
	if hold, held := l.Held(ctx); held || hold != nil {
		panic("Held shows what cannot be")
	}
	return errs
}

// requireComplaint asserts that an error names the verb, the lock and what is wrong, each once.
func requireComplaint(t testing.TB, err error, op, lock, wrong string) {
	t.Helper()
	require.Error(t, err, op)
	var e *rlock.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, op, e.Op)
	assert.Equal(t, lock, e.Lock)
	assert.Contains(t, err.Error(), wrong)
	assert.Equal(t, 1, strings.Count(err.Error(), "rlock: "), "wrapped once: %v", err)
}

// unconnected is a redis client of a server that is not there.
func unconnected(t testing.TB, changes ...func(*redis.Options)) *redis.Client {
	t.Helper()
	options := &redis.Options{Addr: "127.0.0.1:1"}
	for _, change := range changes {
		change(options)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
