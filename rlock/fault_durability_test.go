package rlock_test

// The faults of a server that forgets: D8, D10 and D11. No lock on such a server can keep the next one out, so somebody
// else is inside before the holder knows. What the lock owes is to tell the holder by its next renewal.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// slowWatchdog renews each 2 s and gives a hold up after 5.4 s: who is told sooner was told by the server.
const slowWatchdog = 6 * time.Second

// Attacks promises P1 and P4: Redis is killed, and when it comes back it knows nothing of the locks, or not of the last
// second. The next one is let in at once, which no lock on such a server can prevent; the holder hears it from its next
// renewal, long before its clock would tell it, also if its lease is fixed and renewed by nobody.
func TestFault_D8_ALockThatAKilledRedisForgotIsLostByTheNextRenewal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		persistence []redistest.Option
		opts        []rlock.AcquireOption
	}{
		"no persistence":              {},
		"no persistence, fixed lease": {opts: []rlock.AcquireOption{rlock.Lease(time.Hour)}},
		"synced each second":          {persistence: everySecond()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t, c.persistence...)
			r := newRigOn(t, srv, rlock.WithWatchdogTimeout(slowWatchdog))
			r.warm()
			disk := sizes(t, r.raw)
			h, err := r.lock.Acquire(someone(), c.opts...)
			require.NoError(t, err)
			told := h.Context()
			srv.Kill()
			for file, size := range disk { // a machine without power loses what was not synced yet
				require.NoError(t, os.Truncate(file, size))
			}
			srv.Restart(len(c.persistence) > 0)
			next := someone()
			ok, err := r.rival.TryLock(next)
			require.NoError(t, err)
			require.True(t, ok, "nothing of the lock is left")
			r.requireToldByRenewal(told)
			require.ErrorIs(t, h.Release(t.Context()), rlock.ErrLost)
			require.NoError(t, r.rival.Unlock(next), "the next one's hold was not touched")
			r.idle(10 * time.Second)
		})
	}
}

// Attacks promise P5, no false alarm: Redis is killed and comes back, after a renewal has failed, with the lock in its
// append-only file. Nobody got in, the hold goes on, and so does its renewal.
func TestFault_D8_ALockThatAKilledRedisRemembersIsKept(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, everySecond()...)
	r := newRigOn(t, srv, rlock.WithWatchdogTimeout(slowWatchdog))
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	field, _ := r.field()
	r.eventually(func() bool { return onDisk(t, r.raw, field) }, "written, which a busy server puts off")
	srv.Kill()
	passed(slowWatchdog/3 + 200*time.Millisecond) // a renewal has failed meanwhile
	srv.Restart(true)
	r.taken("it knows the lock")
	renewed := r.proxy.Answered(renewScript)
	require.NoError(t, r.proxy.WaitAnswered(shortly(t, soonEnough), renewScript, renewed+1))
	require.NoError(t, h.Context().Err())
	require.True(t, h.Held())
	again, count := r.field()
	assert.Equal(t, []string{field, "1"}, []string{again, count})
	require.NoError(t, h.Release(t.Context()))
	r.free(10*time.Second, "given back")
}

// Attacks promise P1, exclusion: Redis is killed again and again at any moment, of a grant, of a release, of a renewal, and
// comes back with all that it had answered. Owners of two processes go in and out; whoever is granted the lock finds that
// nobody else believes to hold it, the server never says that it does not know a hold, and in the end nothing is left.
func TestFault_D8_ARedisThatKeepsItsDataExcludesThroughKills(t *testing.T) {
	t.Parallel()
	const workers, kills = 8, 3
	srv := redistest.Start(t, redistest.AppendOnly())
	r := newRigOn(t, srv, rlock.WithWatchdogTimeout(3*time.Second))
	far := r.newClient(srv.Addr(), rlock.WithWatchdogTimeout(3*time.Second))
	locks := []*rlock.Lock{r.lock, far.NewLock(r.key)}
	var (
		newest atomic.Pointer[rlock.Hold]
		visits atomic.Int64
		over   = make(chan struct{})
	)
	all := outcome(func() error {
		return crowd(workers, workers, func(i int) error {
			for !isOver(over) {
				h, err := locks[i%2].Acquire(someone())
				if err != nil {
					return err
				}
				if before := newest.Swap(h); before != nil && before.Held() && h.Held() {
					return fmt.Errorf("two hold it: %v and %v", before, h)
				}
				visits.Add(1)
				time.Sleep(rand.N(5 * time.Millisecond))
				err = h.Release(t.Context())
				if errors.Is(err, rlock.ErrLost) && !strings.Contains(err.Error(), "the server") {
					err = nil // not confirmed in time: it was down for long
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
	for range kills {
		passed(200*time.Millisecond + rand.N(200*time.Millisecond))
		srv.Kill()
		srv.Restart(true)
	}
	passed(200 * time.Millisecond)
	close(over)
	require.NoError(t, inTime(t, 2*soonEnough, all, "all"))
	t.Logf("%d visits", visits.Load())
	r.gone(10*time.Second, "given back")
	r.idle(10 * time.Second)
}

// Attacks promises P1 and P4: Redis runs out of memory and throws the lock away, for every policy that may. The holder
// hears it from its next renewal, also from a server that is too full to write anything. What is full is an error, never
// "taken".
func TestFault_D10_ALockThatWasEvictedIsLostByTheNextRenewal(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-random", "allkeys-lru", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t, redistest.Config("maxmemory-policy", policy))
			r := newRigOn(t, srv, rlock.WithWatchdogTimeout(slowWatchdog))
			h, err := r.lock.Acquire(someone())
			require.NoError(t, err)
			told := h.Context()
			r.fillUntilEvicted()
			full := policy == "volatile-ttl" // nothing is left that it may throw away
			if full {
				require.NoError(t, r.raw.ConfigSet(t.Context(), "maxmemory", "1").Err()) // also when a buffer gets free
			}
			ok, err := r.rival.TryLock(someone())
			if full {
				require.ErrorContains(t, err, "OOM")
				require.NotErrorIs(t, err, rlock.ErrNotAcquired)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, !full, ok)
			r.requireToldByRenewal(told)
			require.ErrorIs(t, h.Release(t.Context()), rlock.ErrLost)
			r.idle(10 * time.Second)
		})
	}
}

// Attacks promises P4 and P7: an operator flushes Redis under a hundred holders, for each of whom one waits in the same
// process and one elsewhere. Every holder is told by the server, every waiter gets its turn, and no script fails of what
// it does not find.
func TestFault_D11_AFlushTellsEveryHolderAndLetsEveryWaiterIn(t *testing.T) {
	t.Parallel()
	const locks = 100
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	look := rlock.WithFallbackLook(500 * time.Millisecond)
	near, far := clientOf(t, srv, look, rlock.WithWatchdogTimeout(slowWatchdog)), clientOf(t, srv, look)
	holds, told := make([]*rlock.Hold, locks), make([]context.Context, locks)
	for i := range holds {
		var opts []rlock.AcquireOption
		if i%2 == 0 {
			opts = append(opts, rlock.Lease(time.Hour))
		}
		h, err := near.NewLock(nameOf(t, i)).Acquire(someone(), opts...)
		require.NoError(t, err)
		holds[i], told[i] = h, h.Context()
	}
	waiting := outcome(func() error {
		return crowd(2*locks, 2*locks, func(i int) error {
			l := []*rlock.Client{near, far}[i%2].NewLock(nameOf(t, i/2))
			return l.Do(someone(), func(context.Context) error { return nil })
		})
	})
	eventually(t, func() bool { return near.Leftovers().Channels == locks && far.Leftovers().Channels == locks }, "all wait")
	_, err := raw.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		p.FlushAll(t.Context())
		p.ConfigResetStat(t.Context())
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, inTime(t, soonEnough, waiting, "the waiters"))
	for i, ctx := range told {
		requireEnd(t, ctx)
		assert.ErrorContains(t, context.Cause(ctx), "the server", "not by its own clock")
		requireLoss(t, holds[i].Release(t.Context()))
	}
	assert.Empty(t, failures(t, raw))
	requireNothingLeft(t, near)
	requireNothingLeft(t, far)
	assert.Zero(t, raw.DBSize(t.Context()).Val())
}

// requireToldByRenewal: the hold ends by the word of the server, given to the next renewal or the one after it.
func (r *rig) requireToldByRenewal(told context.Context) {
	r.t.Helper()
	renewals := faultproxy.And(renewScript, faultproxy.Word(r.key))
	before := r.proxy.Answered(renewals)
	requireEnd(r.t, told)
	require.ErrorIs(r.t, context.Cause(told), rlock.ErrLost)
	require.ErrorContains(r.t, context.Cause(told), "the server", "not by the clock")
	assert.LessOrEqual(r.t, r.proxy.Answered(renewals)-before, 2)
}

// fillUntilEvicted makes the server full until it has thrown the lock away.
func (r *rig) fillUntilEvicted() {
	r.t.Helper()
	used, err := strconv.Atoi(statOf(r.t, r.raw, "memory", "used_memory:"))
	require.NoError(r.t, err)
	require.NoError(r.t, r.raw.ConfigSet(r.t.Context(), "maxmemory", strconv.Itoa(used+1<<20)).Err())
	filler := strings.Repeat("x", 32<<10)
	for i := 0; r.raw.Exists(r.t.Context(), r.key).Val() == 1; i++ {
		require.Less(r.t, i, 100_000, "it keeps the lock")
		_ = r.raw.Set(r.t.Context(), "filler:"+strconv.Itoa(i), filler, 0).Err() // refused once nothing can go
	}
}

// everySecond is an append-only file that is synced once a second, as most are.
func everySecond() []redistest.Option {
	return []redistest.Option{redistest.AppendOnly(), redistest.Config("appendfsync", "everysec")}
}

// dataOf calls see for each file in which the server keeps its data.
func dataOf(t *testing.T, raw *redis.Client, see func(file string, data []byte)) {
	t.Helper()
	dir := raw.ConfigGet(t.Context(), "dir").Val()["dir"]
	require.NotEmpty(t, dir)
	require.NoError(t, filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		see(file, data)
		return err
	}))
}

func sizes(t *testing.T, raw *redis.Client) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	dataOf(t, raw, func(file string, data []byte) { all[file] = int64(len(data)) })
	return all
}

func onDisk(t *testing.T, raw *redis.Client, text string) (found bool) {
	t.Helper()
	dataOf(t, raw, func(_ string, data []byte) { found = found || bytes.Contains(data, []byte(text)) })
	return found
}

// failures lists the commands, those within scripts included, that have failed at the server. Two kinds do not count: a
// script that it has not met yet, and what go-redis says on each new connection.
func failures(t *testing.T, raw *redis.Client) (failed []string) {
	t.Helper()
	info, err := raw.Info(t.Context(), "all").Result() // older servers take one section
	require.NoError(t, err)
	_, unmet, _ := strings.Cut(info, "errorstat_NOSCRIPT:count=")
	unmet, _, _ = strings.Cut(unmet, "\r")
	for line := range strings.Lines(info) {
		name, stats, _ := strings.Cut(strings.TrimSpace(line), ":")
		isCommand := strings.HasPrefix(name, "cmdstat_") && !strings.HasPrefix(name, "cmdstat_client")
		if !isCommand || strings.HasSuffix(stats, ",rejected_calls=0,failed_calls=0") {
			continue
		}
		if name != "cmdstat_evalsha" || !strings.HasSuffix(stats, ",rejected_calls=0,failed_calls="+unmet) {
			failed = append(failed, line)
		}
	}
	return failed
}
