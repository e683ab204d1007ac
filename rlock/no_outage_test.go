package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// A wait that ends is "taken", unless Redis does not answer for this lock now: then nobody knows. Neither the trouble of
// another name (another server of a cluster, or a refusal that is about that key) nor one that is long over makes an error
// of it.
func TestTroubleThatIsNotOfThisLockLeavesFalse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble func(r *rig)
		wait    time.Duration
	}{
		"another name, all the time": {wait: 500 * time.Millisecond, trouble: func(r *rig) { r.troubleElsewhere() }},
		"another name, once":         {wait: 500 * time.Millisecond, trouble: func(r *rig) { r.troubleOnce(r.key + ":other") }},
		"this name, but long over":   {wait: 2 * time.Second, trouble: func(r *rig) { r.troubleOnce(r.key) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rlock.WithFallbackLook(5*time.Second))
			r.warm()
			holder := someone()
			require.NoError(t, r.rival.Lock(holder))
			var in bool
			waiter := outcome(func() (err error) {
				in, err = r.lock.TryLock(someone(), rlock.Wait(c.wait))
				return err
			})
			r.asleep(1)
			c.trouble(r)
			require.NoError(t, <-waiter, "the lock is taken, and Redis answers")
			assert.False(t, in)
			require.NoError(t, r.rival.Unlock(holder))
		})
	}
}

// The second in line comes to its head while another name has been in trouble for longer than the retry budget. That is
// none of its business: it looks, waits on, and gets in.
func TestTroubleOfAnotherNameFailsNoHead(t *testing.T) {
	t.Parallel()
	const budget = 300 * time.Millisecond
	r := newRig(t, rlock.WithFallbackLook(5*time.Second), rlock.WithRetryBudget(budget))
	r.warm()
	holder, waiter := someone(), someone()
	require.NoError(t, r.rival.Lock(holder))
	ctx, leave := context.WithCancel(someone())
	first := outcome(func() error { return r.lock.Lock(ctx) })
	r.asleep(1)
	second := outcome(func() error { return r.lock.Lock(waiter) })
	r.eventually(func() bool { return r.client.Leftovers().Seats == 2 }, "in line")
	r.troubleElsewhere()
	passed(2 * budget)
	leave()
	require.ErrorIs(t, <-first, context.Canceled)
	select {
	case err := <-second:
		require.Fail(t, "it waits no longer", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, inTime(t, 5*time.Second, second, "its turn has come"))
	require.NoError(t, r.lock.Unlock(waiter))
}

// One goroutine of an owner waits while a command of another one of the same owner is under way. When its wait ends it has
// asked Redis nothing, and has nothing to say about Redis: it did not get in, and that is all.
func TestWaitingForTheOwnersOwnTurnIsNoOutage(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), someone()
	r.warm()
	require.NoError(t, r.lock.Lock(ctx))
	r.proxy.HoldRequest(answerTime-50*time.Millisecond, 1, acquireScript)
	before := r.proxy.Received(acquireScript)
	slow := outcome(func() error { return r.lock.Lock(ctx) })
	r.eventually(func() bool { return r.proxy.Received(acquireScript) > before }, "on its way")
	in, err := r.lock.TryLock(ctx, rlock.Wait(20*time.Millisecond))
	require.NoError(t, err)
	assert.False(t, in)
	require.NoError(t, <-slow)
	require.NoError(t, r.lock.Unlock(ctx))
	require.NoError(t, r.lock.Unlock(ctx))
}

// A short lease over a slow network. A grant would be none by the time it is heard, but that the lock is taken is an answer.
func TestTakenIsTakenAlsoForAShortLease(t *testing.T) {
	t.Parallel()
	const lease = 60 * time.Millisecond
	r := newRig(t, rlock.WithRetryBudget(time.Second))
	r.warm()
	holder := someone()
	require.NoError(t, r.rival.Lock(holder))
	r.proxy.DelayReplies(lease)
	in, err := r.lock.TryLock(someone(), rlock.Lease(lease))
	require.NoError(t, err)
	assert.False(t, in)
	err = r.lock.Lock(someone(), rlock.Lease(lease), rlock.Wait(2*time.Second))
	require.ErrorIs(t, err, rlock.ErrNotAcquired)
	require.NoError(t, r.rival.Unlock(holder))
}

// troubleElsewhere lets Redis refuse every command on another lock, on which somebody is at work until the test ends. It
// returns when that has begun.
func (r *rig) troubleElsewhere() {
	r.t.Helper()
	other := r.key + ":other"
	r.proxy.RefuseRequest("-CLUSTERDOWN Hash slot not served", faultproxy.Every, faultproxy.Word(other))
	ctx, cancel := context.WithCancel(someone())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = r.client.NewLock(other).Lock(ctx)
		}
	}()
	r.t.Cleanup(func() { cancel(); <-done })
	r.eventually(func() bool { return r.proxy.Received(faultproxy.Word(other)) > 0 }, "in trouble")
}

// troubleOnce asks about a lock, in vain, and does not ask again.
func (r *rig) troubleOnce(name string) {
	r.t.Helper()
	r.proxy.RefuseRequest("-LOADING Redis is loading", 1, faultproxy.Word(name))
	before := r.proxy.Received(faultproxy.Word(name))
	_, err := r.client.NewLock(name).State(shortly(r.t, 5*time.Millisecond))
	require.Error(r.t, err)
	r.eventually(func() bool { return r.proxy.Received(faultproxy.Word(name)) > before }, "refused")
}
