package rlock_test

import (
	"bufio"
	"context"
	"crypto/fips140"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
)

// P1, P11: two processes, started at once from one binary, name a thousand owners each, goroutines and made ones in turn. On the
// wire no two are the same, whatever is the same in the processes. Who names himself must have a name.
func TestFault_A1_OwnersOfTwinProcessesNeverMeet(t *testing.T) {
	t.Parallel()
	if os.Getenv(twinEnv) != "" {
		printOwners(t)
		return
	}
	var twins [2]*exec.Cmd
	var said [2]strings.Builder
	for i := range twins {
		twins[i] = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		twins[i].Env = append(os.Environ(), twinEnv+"=1")
		twins[i].Stdout = &said[i]
		require.NoError(t, twins[i].Start())
	}
	seen := map[string]bool{}
	for i, twin := range twins {
		require.NoError(t, twin.Wait())
		lines := bufio.NewScanner(strings.NewReader(said[i].String()))
		for lines.Scan() {
			if owner, ok := strings.CutPrefix(lines.Text(), "owner "); ok {
				require.False(t, seen[owner], owner)
				seen[owner] = true
			}
		}
	}
	assert.Len(t, seen, 2*twinOwners)

	_, err := ownerid.Parse("")
	require.ErrorIs(t, err, ownerid.ErrMalformed)
	_, err = rlock.New(nowhere(t), rlock.WithName(""))
	require.ErrorContains(t, err, "WithName")
}

const (
	twinEnv    = "RLOCK_TEST_TWIN"
	twinOwners = 1000
)

// nowhere is a redis client that is not used.
func nowhere(t *testing.T) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// printOwners names them as they would stand in Redis, up to the number of the attempt.
func printOwners(t *testing.T) {
	t.Helper()
	c := newClient(t, nowhere(t), rlock.WithName("twin"))
	var all sync.WaitGroup
	for i := range twinOwners {
		all.Go(func() {
			id := ownerid.Goroutine()
			if i%2 == 0 {
				id = ownerid.New()
			}
			fmt.Printf("owner %s:%s\n", c.ID(), id)
		})
	}
	all.Wait()
}

// P1: tasks that nobody told to be one owner exclude each other, on one handle of one Client, though they run at once, on one
// goroutine after the other, or in the context of a caller who holds the lock; where nobody says who they are, they may be asked to.
func TestFault_A2_TasksShareALockOnlyIfTheyWereToldTo(t *testing.T) {
	t.Parallel()
	c := clientOf(t, redistest.Shared(t))
	lock := c.NewLock(t.Name())
	require.NoError(t, lock.Lock(t.Context())) // for this goroutine
	in, err := elsewhere(func() (bool, error) { return lock.TryLock(t.Context()) })
	require.NoError(t, err)
	require.False(t, in, "another goroutine")
	in, err = lock.TryLock(someone())
	require.NoError(t, err)
	require.False(t, in, "another task on this goroutine")
	require.NoError(t, lock.Unlock(t.Context()))

	hold, err := lock.Acquire(t.Context())
	require.NoError(t, err)
	in, err = elsewhere(func() (bool, error) { return lock.TryLock(hold.Context()) })
	require.NoError(t, err)
	require.True(t, in, "handed the owner on purpose")
	in, err = elsewhere(func() (bool, error) { return lock.TryLock(ownerid.Without(hold.Context())) })
	require.NoError(t, err)
	require.False(t, in, "though it came with the caller's context")
	_, err = elsewhere(func() (bool, error) { return true, lock.Unlock(hold.Context()) })
	require.NoError(t, err)
	require.NoError(t, hold.Release(t.Context()))

	strict := clientOf(t, redistest.Shared(t), rlock.WithExplicitOwners()).NewLock(t.Name())
	_, err = strict.TryLock(t.Context())
	require.ErrorIs(t, err, rlock.ErrNoOwner)
	requireNothingLeft(t, c)
}

// P2, P6, P11: what one goroutine took another gives back, if it has the Hold or is the owner; the hold is as safe between them as on
// one. Who is neither changes nothing.
func TestFault_A3_AnotherGoroutineGivesBack(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	c := clientOf(t, srv, rlock.WithWatchdogTimeout(600*time.Millisecond))
	lock, raw, ann := c.NewLock(t.Name()), srv.Raw(t), someone()
	hold, err := elsewhere(func() (*rlock.Hold, error) { return lock.Acquire(context.Background()) })
	require.NoError(t, err)
	before := hold.ValidUntil()
	eventually(t, func() bool { return hold.ValidUntil().After(before) }, "renewed, though its goroutine is no more")
	require.ErrorIs(t, lock.Unlock(context.Background()), rlock.ErrNotHeld, "this goroutine is somebody else")
	require.True(t, hold.Held())
	require.NoError(t, hold.Release(context.Background()))
	require.Zero(t, levelsIn(t, raw, t.Name()))

	id, _ := ownerid.FromContext(ann)
	for range 2 {
		_, err = elsewhere(func() (bool, error) { return true, lock.Lock(ann) })
		require.NoError(t, err)
	}
	_, err = elsewhere(func() (bool, error) {
		text, err := ownerid.Parse(id.String()) // who the owner is may travel as text
		return true, errors.Join(err, lock.Unlock(ownerid.NewContext(context.Background(), text)))
	})
	require.NoError(t, err)
	require.Equal(t, 1, levelsIn(t, raw, t.Name()))
	require.NoError(t, lock.Unlock(ann))
	requireNothingLeft(t, c)
}

// P1, P2: fifty goroutines on one handle, each nests as it pleases. The handle has no state to overwrite: nobody gives back, renews
// or counts for another.
func TestFault_A4_OneHandleServesManyAtOnce(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	c := clientOf(t, srv)
	lock, inside := c.NewLock(t.Name()), 0 // a plain number: the race detector knows of the lock only through what it orders
	require.NoError(t, crowd(50, 200, func(i int) error {
		ctx := context.Background()
		if i%2 == 0 {
			ctx = someone()
		}
		for depth := range 1 + i%3 {
			if err := lock.Lock(ctx); err != nil {
				return err
			}
			if depth == 0 {
				inside++
			}
		}
		for range 1 + i%3 {
			if _, held := lock.Held(ctx); !held {
				return fmt.Errorf("task %d lost the lock to a neighbour", i)
			}
			if err := lock.Unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	assert.Equal(t, 200, inside)
	assert.Zero(t, srv.Raw(t).Exists(t.Context(), t.Name()).Val())
	requireNothingLeft(t, c)
}

// P2, P3, P4, P6, P8, P9: a process that may not use SHA-1, as FIPS 140 has it, cannot name a script by its digest. Its locks work all the same.
func TestFault_G3_ALockWithoutSHA1(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	if !fips140.Enforced() {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "GODEBUG=fips140=only")
		said, err := child.CombinedOutput()
		require.NoError(t, err, "%s", said)
		assert.Contains(t, string(said), "--- PASS: "+t.Name())
		return
	}
	key, ann, bob := uuid.NewString(), someone(), someone()
	lock := clientOf(t, srv, rlock.WithWatchdogTimeout(600*time.Millisecond)).NewLock(key)
	rival := clientOf(t, srv).NewLock(key)
	require.NoError(t, lock.Lock(ann))
	require.NoError(t, lock.Lock(ann))
	hold, _ := lock.Held(ann)
	before := hold.ValidUntil()
	eventually(t, func() bool { return hold.ValidUntil().After(before) }, "renewed")
	got := outcome(func() error { return rival.Lock(bob) })
	channel := rlock.ChannelOf(key)
	eventually(t, func() bool { return srv.Raw(t).PubSubNumSub(ann, channel).Val()[channel] == 1 }, "subscribed")
	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, lock.Unlock(ann))
	require.NoError(t, inTime(t, 10*time.Second, got, "the waiter"))
	removed, err := lock.ForceUnlock(ann)
	require.NoError(t, err)
	require.True(t, removed)
	requireLoss(t, rival.Unlock(bob))
}
