package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// P2, P3, P5, P8: while locks are held, rights are taken away from the user, and given back before a deadline is reached. Who
// wants a lock meanwhile is told at once and leaves nothing behind; what was given back meanwhile is free as soon as it can be;
// nobody loses what he holds, and the counts are those that the callers were told.
func TestOutage_RightsTakenAndGivenBack_NobodyLosesAHold(t *testing.T) {
	t.Parallel()
	for name, rights := range map[string]struct{ take, give string }{
		"to scripts":  {"-@scripting", "+@scripting"},
		"to keys":     {"resetkeys", "~*"},
		"to write":    {"-@write", "+@write"},
		"to PEXPIRE":  {"-pexpire", "+pexpire"},
		"to HINCRBY":  {"-hincrby", "+hincrby"},
		"to anything": {"-@all", "+@all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newUserRig(t, rlock.WithWatchdogTimeout(4*time.Second))
			h, err := r.lock.Acquire(someone())
			require.NoError(t, err)
			verbs := r.verbs()
			r.do("ACL", "SETUSER", "app", rights.take)
			failed := map[string]bool{}
			for name, answer := range useAll(verbs) {
				got := <-answer
				failed[name] = got.err != nil
				assert.NotErrorIs(t, got.err, errTaken, name)
				assert.NotErrorIs(t, got.err, rlock.ErrNotHeld, name)
				assert.NotErrorIs(t, got.err, rlock.ErrNotAcquired, name)
			}
			for _, taking := range []string{"lock", "try lock", "try lock with a wait", "acquire", "try acquire", "nested lock"} {
				assert.True(t, failed[taking], taking)
			}
			before := r.attempts()[r.key]
			r.eventually(func() bool { return r.attempts()[r.key] > before }, "a renewal")
			require.NoError(t, h.Context().Err())
			r.do("ACL", "SETUSER", "app", rights.give)
			for name, v := range verbs {
				want := v.done
				if failed[name] {
					want = v.failed
				}
				r.eventually(func() bool { return levelsIn(t, r.raw, v.key) == want }, name+": as its caller was told")
			}
			valid := h.ValidUntil()
			r.eventually(func() bool { return h.ValidUntil().Sub(valid) > 300*time.Millisecond }, "renewed")
			require.NoError(t, h.Context().Err(), "a false alarm")
			require.NoError(t, h.Release(t.Context()))
		})
	}
}

// P1, P4: the rights do not come back. The holder knows by its clock that it holds no longer, before the key is gone.
func TestOutage_RightsTakenForGood_TheHolderKnowsByItsClock(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]string{"to scripts": "-@scripting", "to PEXPIRE": "-pexpire", "to all keys": "resetkeys"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newUserRig(t, rlock.WithWatchdogTimeout(1500*time.Millisecond))
			h, err := r.lock.Acquire(someone())
			require.NoError(t, err)
			rival := r.rival
			got := outcome(func() error {
				err := rival.Lock(someone())
				assert.False(t, h.Held(), "told before another is in")
				return err
			})
			r.do("ACL", "SETUSER", "app", take)
			requireEnd(t, h.Context())
			require.ErrorIs(t, context.Cause(h.Context()), rlock.ErrLost)
			requireLoss(t, h.Release(t.Context()))
			require.NoError(t, inTime(t, 10*time.Second, got, "the rival"))
		})
	}
}

// P7: the right to the channel is taken from those who sleep on it; the server hangs up on them. They look by themselves until
// they are given it back, and sleep again then.
func TestOutage_ChannelTakenAndGivenBack_WaitersGetIn(t *testing.T) {
	t.Parallel()
	r := newUserRig(t)
	wait := func() (holder context.Context, waiter <-chan error) {
		holder = someone()
		require.NoError(t, r.rival.Lock(holder))
		return holder, outcome(func() error { return r.lock.Do(someone(), func(context.Context) error { return nil }) })
	}
	holder, waiter := wait()
	r.asleep(1)
	r.do("ACL", "SETUSER", "app", "resetchannels")
	r.do("CLIENT", "KILL", "TYPE", "pubsub") // if the server has not done so
	r.asleep(0)
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, inTime(t, 10*time.Second, waiter, "it looks"))

	holder, waiter = wait()
	r.eventually(func() bool { return r.client.Leftovers().Queues == 1 }, "waiting")
	r.do("ACL", "SETUSER", "app", "&*")
	r.asleep(1)
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, inTime(t, 10*time.Second, waiter, "it is told"))
	requireNothingLeft(t, r.client)
}

// P3, P5, P8: the user is deleted, which closes the connections, while locks are held and waited for; somebody makes the user
// again. Who wants or gives back a lock in between is told why, as is who waits. A hold is kept.
func TestOutage_UserDeletedAndMadeAgain_AHoldIsKept(t *testing.T) {
	t.Parallel()
	r := newUserRig(t, rlock.WithWatchdogTimeout(4*time.Second))
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	given := r.client.NewLock(r.key + ":given back")
	back, err := given.Acquire(someone())
	require.NoError(t, err)
	waited := r.client.NewLock(r.key + ":waited for")
	r.foreign(waited.Name())
	waiter := outcome(func() error { return waited.Lock(someone()) })
	r.eventually(func() bool { return r.client.Leftovers().Channels == 1 }, "waiting")

	r.do("ACL", "DELUSER", "app")
	for op, err := range acquireByEveryVerb(r.client.NewLock(r.key+":new"), someone()) {
		requireComplaint(t, err, op, r.key+":new", "WRONGPASS")
	}
	require.ErrorContains(t, back.Release(t.Context()), "WRONGPASS")
	require.ErrorContains(t, inTime(t, 10*time.Second, waiter, "it looks"), "WRONGPASS")
	before := r.attempts()[r.key]
	r.eventually(func() bool { return r.attempts()[r.key] > before }, "a renewal")
	r.makeUser()
	valid := h.ValidUntil()
	r.eventually(func() bool { return h.ValidUntil().Sub(valid) > 300*time.Millisecond }, "renewed")
	require.NoError(t, h.Context().Err(), "a false alarm")
	r.eventually(func() bool { return levelsIn(t, r.raw, given.Name()) == 0 }, "given back after all")
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, r.client.NewLock(r.key+":new").Do(someone(), func(context.Context) error { return nil }))
	requireNothingLeft(t, r.client)
}

// P5, P8: the password is changed. Connections that live go on; when they are closed, the Client is told what is wrong, and it
// works again as soon as the password fits.
func TestOutage_PasswordChanged_LivingConnectionsGoOn(t *testing.T) {
	t.Parallel()
	r := newUserRig(t, rlock.WithWatchdogTimeout(4*time.Second))
	require.NoError(t, r.lock.Do(someone(), func(context.Context) error { return nil }))
	r.do("ACL", "SETUSER", "app", "resetpass", ">other")
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	valid := h.ValidUntil()
	r.eventually(func() bool { return h.ValidUntil().Sub(valid) > 300*time.Millisecond }, "renewed")
	r.do("CLIENT", "KILL", "USER", "app")
	require.ErrorContains(t, r.client.NewLock(r.key+":new").Lock(someone()), "WRONGPASS")
	require.NoError(t, h.Context().Err())
	r.do("ACL", "SETUSER", "app", "resetpass", ">secret")
	require.NoError(t, h.Release(t.Context()))
	requireNothingLeft(t, r.client)
}

// newUserRig has a Client of a user with all rights, "app".
func newUserRig(t *testing.T, opts ...rlock.Option) *outageRig {
	t.Helper()
	r := newOutageRig(t, nil)
	r.makeUser()
	r.client = r.userClient("app", opts...)
	r.lock = r.client.NewLock(r.key)
	return r
}

func (r *outageRig) makeUser() {
	r.t.Helper()
	r.do("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all")
}
