package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// P2, P3, P5, P8: the server is stopped and started with its data. Every dial is refused meanwhile.
func TestOutage_ServerStopped_VerbsGoOnOrSaySo(t *testing.T) {
	(&outage{
		server: []redistest.Option{redistest.AppendOnly()},
		begin:  func(r *outageRig) { r.srv.Stop() },
		end:    func(r *outageRig) { r.srv.Restart(true) },
	}).attack(t)
}

// P2, P3, P5, P8: the server hangs. It accepts connections and requests, and runs them when it goes on, long after their
// callers sent others, or gave up.
func TestOutage_ServerHangs_VerbsGoOnOrSaySo(t *testing.T) {
	(&outage{
		begin: func(r *outageRig) { r.srv.Pause() },
		end:   func(r *outageRig) { r.srv.Resume() },
	}).attack(t)
}

// P4, P9: the server comes back empty. Whoever held something is told so by the server's word, whichever verb asks, and nobody
// is told that he holds what is gone; the rest go on.
func TestOutage_RestartedEmpty_HoldersLearnAndOthersGoOn(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, nil)
	verbs := r.verbs()
	before := r.attempts()
	r.srv.Stop()
	answers := useAll(verbs)
	for name, v := range verbs {
		r.eventually(func() bool { return r.attempts()[v.key] > before[v.key] }, name+": tried")
	}
	r.srv.Restart(false)
	for name, answer := range answers {
		err := (<-answer).err
		switch name {
		case "nested lock", "unlock", "inner unlock", "release", "end of do", "extend":
			require.ErrorIs(t, err, rlock.ErrLost, name)
		case "state":
			require.ErrorIs(t, err, errFree)
		case "force unlock":
			require.ErrorIs(t, err, errFree)
		default:
			require.NoError(t, err, name)
			assert.Equal(t, verbs[name].done, levelsIn(t, r.raw, verbs[name].key), name)
		}
	}
}

// P2, P3, P4, P9: the server is away for longer than the budget, and comes back empty. Every verb has said by then that Redis
// cannot be asked. What they left to the background brings nothing back; holders learn of their loss from the server, by their
// renewals or by the next verb, and whoever got nothing can take the lock.
func TestOutage_RestartedEmptyBeyondTheBudget_NothingComesBack(t *testing.T) {
	t.Parallel()
	r := newOutageRig(t, nil, rlock.WithRetryBudget(400*time.Millisecond), rlock.WithWatchdogTimeout(12*time.Second))
	verbs := r.verbs()
	ctx := someone()
	h, err := r.lock.Acquire(ctx)
	require.NoError(t, err)
	told := h.Context()
	r.srv.Stop()
	for name, answer := range useAll(verbs) {
		requireReason(t, name, (<-answer).err)
	}
	require.NoError(t, told.Err(), "nothing proves a loss")
	r.srv.Restart(false)
	r.ready(func() error { return lastOf(r.lock.State(ctx)) }) // go-redis dials once a second after so many failures
	for _, lost := range []string{"nested lock", "extend"} {
		require.ErrorIs(t, verbs[lost].use(), rlock.ErrLost, lost)
	}
	for _, taking := range []string{"lock", "try lock", "try lock with a wait", "acquire", "try acquire", "do"} {
		require.NoError(t, verbs[taking].use(), taking)
		assert.Equal(t, verbs[taking].done, levelsIn(t, r.raw, verbs[taking].key), taking)
		require.NoError(t, verbs[taking].undo(), taking)
	}
	requireEnd(t, told)
	require.ErrorContains(t, context.Cause(told), "the server no longer knows", "and not by its deadline")
	requireLoss(t, h.Release(ctx))
	assert.Zero(t, r.raw.DBSize(t.Context()).Val(), "nothing comes back")
}

// P3, P7: the server is away for longer than the budget while many wait: the head, those in line behind it, those whose Wait is
// far from over. Each is told why, and never "taken"; nothing is left of them; and the next ones wait as if nothing had been.
func TestOutage_DownBeyondTheBudget_WaitersSaySoAndLeaveNothing(t *testing.T) {
	t.Parallel()
	const budget, waiters = 400 * time.Millisecond, 6
	r := newOutageRig(t, []redistest.Option{redistest.AppendOnly()}, rlock.WithRetryBudget(budget))
	r.foreign(r.key)
	answers := make(chan error, waiters)
	for i := range waiters {
		go func() {
			if i%2 == 0 {
				answers <- r.lock.Lock(someone())
			} else {
				answers <- orTaken(r.lock.TryLock(someone(), rlock.Wait(time.Minute)))
			}
		}()
	}
	r.eventually(func() bool { return r.client.Leftovers().Seats == waiters }, "all in line")
	r.asleep(1)
	r.srv.Stop()
	for range waiters {
		err := inTime(t, 10*time.Second, answers, "a waiter")
		require.Error(t, err)
		for _, wrong := range []error{errTaken, rlock.ErrNotAcquired} {
			require.NotErrorIs(t, err, wrong)
		}
	}
	left := r.client.Leftovers()
	assert.Zero(t, left.Seats+left.Queues+left.Tenures, "of waiters that gave up")
	r.srv.Restart(true)
	got := outcome(func() error { return r.lock.Lock(someone(), rlock.Wait(time.Minute)) })
	r.asleep(1)
	require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
	require.NoError(t, inTime(t, 10*time.Second, got, "it waits, and gets in"))
}

// P1, P4: the server is away until the lease is over. The holder knows by its own clock, before the server could give the lock
// to anybody; what it held is nobody's when the server is back.
func TestOutage_DownForLongerThanTheLease_TheHolderKnowsByItsClock(t *testing.T) {
	t.Parallel()
	const lease = 900 * time.Millisecond
	r := newOutageRig(t, []redistest.Option{redistest.AppendOnly()}, rlock.WithWatchdogTimeout(lease))
	for told := false; !told; { // a busy machine may lose it before the server is stopped
		ctx := someone()
		h, err := r.lock.Acquire(ctx)
		require.NoError(t, err)
		r.srv.Stop()
		told = h.Context().Err() == nil
		requireEnd(t, h.Context())
		require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
		require.False(t, h.Held())
		r.srv.Restart(true)
		require.NoError(t, r.rival.Lock(ctx, rlock.Wait(10*time.Second)))
		requireLoss(t, h.Release(ctx))
		require.NoError(t, r.rival.Unlock(ctx), "the late release was for another hold")
	}
}

// P1, P2, P5, P7: the server goes away again and again, for moments, killed or stopped, under owners of two Clients that count in
// turns. None of them gets an error, and none of their steps is lost.
func TestOutage_UpAndDown_CostsTimeAndNothingElse(t *testing.T) {
	t.Parallel()
	const workers, steps = 4, 60
	r := newOutageRig(t, []redistest.Option{redistest.AppendOnly()}, rlock.WithRetryBudget(time.Minute))
	other := r.directClient(rlock.WithRetryBudget(time.Minute)).NewLock(r.key)
	counted := 0
	work := outcome(func() error {
		return crowd(workers, steps, func(i int) error {
			l := []*rlock.Lock{r.lock, other}[i%2]
			return l.Do(someone(), func(context.Context) error {
				before := counted
				time.Sleep(5 * time.Millisecond)
				counted = before + 1
				return nil
			})
		})
	})
	for down := range 4 {
		passed(100 * time.Millisecond)
		if down%2 == 0 {
			r.srv.Kill()
		}
		r.srv.Restart(true)
	}
	require.NoError(t, inTime(t, time.Minute, work, "the workers"))
	assert.Equal(t, steps, counted)
	r.eventually(func() bool { return r.raw.Exists(t.Context(), r.key).Val() == 0 }, "free in the end")
}
