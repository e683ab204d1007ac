package rlock_test

// The faults of holders for whom time stands still, or who are cut off for longer than their lease: D12 and D14.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks promise P4, and the end of what it says: the holder checks that it holds, is stopped for longer than its
// lease, and goes on to write. A rival was in and out meanwhile. Whatever asks the lock before it writes, by Held or
// with the hold's context, is kept from it at once. What does not ask writes over the rival's work: no lock can prevent
// that, only a resource that compares fencing tokens, and the plain lock has none.
func TestFault_D12_AStoppedHolderThatAsksDoesNotWriteAfterItsLease(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.startHolder(lateWriter)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	rival := someone()
	require.NoError(t, r.rival.Lock(rival, rlock.Wait(20*time.Second)))
	for _, how := range lateWays {
		require.NoError(t, r.raw.Set(t.Context(), r.key+how, "rival", time.Minute).Err())
	}
	require.NoError(t, r.rival.Unlock(rival))
	for _, s := range []os.Signal{timeToWrite, syscall.SIGCONT} {
		require.NoError(t, p.cmd.Process.Signal(s))
	}
	require.Equal(t, "checked true, now false, lost true, token 0", p.line())
	wrote := map[string]string{}
	for _, how := range lateWays {
		wrote[how] = r.raw.Get(t.Context(), r.key+how).Val()
	}
	assert.Equal(t, map[string]string{asksHeld: "rival", asksContext: "rival", asksNobody: "late"}, wrote)
	r.free(10*time.Second, "its release touches nobody's hold")
}

// Attacks promises P2 and P4: a holder is cut off for longer than its lease, while a rival comes, goes and comes again.
// When the network heals, what was sent meanwhile arrives. It touches nobody, the hold is lost for good, and the owner
// can lock again, with a field that it never had before.
func TestFault_D14_AHealedPartitionRevivesNoHold(t *testing.T) {
	t.Parallel()
	const lease = 1200 * time.Millisecond
	r := newRig(t, rlock.WithWatchdogTimeout(lease))
	r.warm()
	owner, rival := someone(), someone()
	require.NoError(t, r.lock.Lock(owner))
	require.NoError(t, r.lock.Lock(owner))
	view, ok := r.lock.Held(owner)
	require.True(t, ok)
	lost := view.Context()
	old, _ := r.field()
	r.proxy.BlackHole(true)
	for range 2 {
		require.NoError(t, r.rival.Lock(rival, rlock.Wait(20*time.Second)))
		require.False(t, view.Held(), "before the rival got in")
		require.NoError(t, r.rival.Unlock(rival))
	}
	require.NoError(t, r.rival.Lock(rival))
	requireEnd(t, lost)
	require.ErrorIs(t, context.Cause(lost), rlock.ErrLost)
	_, ok = r.lock.Held(owner)
	require.False(t, ok)
	require.ErrorIs(t, r.lock.Lock(owner), rlock.ErrLost, "a level of a lost hold")
	requireLoss(t, r.lock.Unlock(owner))
	theirs := r.fields()
	r.proxy.Heal()
	late := faultproxy.Word(old)
	r.eventually(func() bool { return r.proxy.Answered(late) == r.proxy.Received(late) }, "all has arrived")
	assert.Equal(t, theirs, r.fields(), "the rival's hold")
	require.False(t, view.Held())
	require.ErrorIs(t, r.lock.Lock(owner), rlock.ErrLost, "one level was not given back yet")
	requireLoss(t, r.lock.Unlock(owner))
	require.ErrorIs(t, r.lock.Unlock(owner), rlock.ErrNotHeld)

	require.NoError(t, r.rival.Unlock(rival))
	require.NoError(t, r.lock.Lock(owner), "the handle serves again")
	fresh, _ := r.field()
	require.NotEqual(t, old, fresh)
	renewed := r.proxy.Answered(renewScript)
	require.NoError(t, r.proxy.WaitAnswered(shortly(t, soonEnough), renewScript, renewed+2), "it is renewed")
	r.taken("it is a hold like any other")
	require.False(t, view.Held(), "the one of before stays lost")
	require.NoError(t, r.lock.Unlock(owner))
	r.gone(10*time.Second, "given back")
	r.idle(10 * time.Second)
}

// A process that is started in this role writes only when it is told to, in three ways, to keys that are named after
// them.
const (
	lateWriter  = "writes late"
	timeToWrite = syscall.SIGUSR1

	asksHeld, asksContext, asksNobody = ":asks Held", ":asks the context", ":asks nobody"
)

var lateWays = []string{asksHeld, asksContext, asksNobody}

// init comes before the tests do, so that the process that writes runs none.
func init() {
	if words := strings.SplitN(os.Getenv(childEnv), " ", 3); len(words) == 3 && words[2] == lateWriter {
		writeLate(words[0], words[1])
		os.Exit(0)
	}
}

func writeLate(addr, key string) {
	ctx, told := context.Background(), make(chan os.Signal, 1)
	signal.Notify(told, timeToWrite)
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	c, err := rlock.New(rdb, rlock.WithWatchdogTimeout(childWatchdog))
	if err != nil {
		panic(err)
	}
	h, err := c.NewLock(key).Acquire(ctx)
	if err != nil {
		panic(err)
	}
	write := func(ctx context.Context, how string) { _ = rdb.Set(ctx, key+how, "late", time.Minute).Err() }
	held, checked := h.Context(), h.Held()
	fmt.Println("held")
	<-told
	now := h.Held()
	if now {
		write(ctx, asksHeld)
	}
	select {
	case <-held.Done():
	case <-time.After(15 * time.Second): // the test will see what was written
	}
	write(held, asksContext)
	write(ctx, asksNobody)
	fmt.Printf("checked %t, now %t, lost %t, token %d\n", checked, now, errors.Is(h.Release(ctx), rlock.ErrLost), h.Token())
}
