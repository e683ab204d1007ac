package rlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// The removal ran, its reply is lost, and thanks to it the next holder got in. The forced unlock asks again, but only after
// those whom it saw before the doubt arose: the next holder's hold began after the unlock, and stands.
func TestForceUnlockWithALostReplySparesTheNextHolder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warmForce()
	victim := someone()
	require.NoError(t, r.rival.Lock(victim))
	third := r.newClient(r.srv.Addr()).NewLock(r.key)
	var next *rlock.Hold
	in := outcome(func() (err error) {
		next, err = third.Acquire(someone())
		return err
	})
	r.asleep(1)

	r.proxy.DropReply(1, forceScript)
	removed, err := r.lock.ForceUnlock(someone())
	require.NoError(t, err)
	assert.True(t, removed, "the victim was thrown out")
	require.NoError(t, inTime(t, 5*time.Second, in, "the next holder is woken by the unlock"))
	assert.True(t, next.Held())
	r.taken("by the next holder, who was not meant")
	require.NoError(t, next.Release(t.Context()))
	requireLoss(t, r.rival.Unlock(victim))
}

// The lock is granted in Redis, but its holder does not know yet when it is unlocked by force, and a rival takes it. The
// grant that arrives after that is worth nothing: its caller, of the same Client, waits for the rival.
func TestForceUnlockRevokesAGrantThatIsOnItsWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warmForce()
	c := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: 5 * time.Second})
	lock := c.NewLock(r.key)
	r.proxy.DelayReplies(500*time.Millisecond, acquireScript)
	var hold *rlock.Hold
	in := outcome(func() (err error) {
		hold, err = lock.Acquire(someone())
		return err
	})
	r.eventually(func() bool { return len(r.fields()) == 1 }, "granted in Redis")
	r.proxy.Heal() // but this reply stays on its long way

	removed, err := lock.ForceUnlock(someone())
	require.NoError(t, err)
	require.True(t, removed)
	rival := someone()
	require.NoError(t, r.rival.Lock(rival))
	select {
	case err := <-in:
		require.Fail(t, "two holders", "%v", err)
	case <-time.After(600 * time.Millisecond): // the late reply has come
	}
	require.NoError(t, r.rival.Unlock(rival))
	require.NoError(t, inTime(t, 5*time.Second, in, "its turn has come"))
	assert.Len(t, r.mine(c), 1)
	require.NoError(t, hold.Release(t.Context()))
}

// warmForce is warm for the script of the forced unlock too.
func (r *rig) warmForce() {
	r.t.Helper()
	r.warm()
	l, ctx := r.client.NewLock(r.key+":warm"), someone()
	require.NoError(r.t, l.Lock(ctx))
	_, err := l.ForceUnlock(ctx)
	require.NoError(r.t, err)
	requireLoss(r.t, l.Unlock(ctx))
}
