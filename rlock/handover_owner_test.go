package rlock_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petermattis/goid"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// P9, P10: bob's goroutine is parked at the head of the line, and does not get to run. Meanwhile another goroutine of his takes the
// lock and loses it. Who unlocks next hands nothing over to him: the lost level has to be given back first, and his Lock says so.
func TestRule13_AnOwnerWhoHasALossToGiveBackIsPassedOver(t *testing.T) {
	t.Parallel()
	srv := redistest.Shared(t)
	rdb, stall := srv.Client(t), &sleepwalker{run: make(chan struct{})}
	c := newClient(t, rdb, quietly, rlock.WithClock(stall.clock))
	l := c.NewLock(t.Name())
	ann, bob, cal := someone(), someone(), someone()
	require.NoError(t, l.Lock(ann))
	waiter := outcome(func() error { stall.who.Store(goid.Get()); return l.Lock(bob) })
	channel := rlock.ChannelOf(t.Name())
	eventually(t, func() bool {
		return c.HasParked(t.Name()) && srv.Raw(t).PubSubNumSub(t.Context(), channel).Val()[channel] == 1
	}, "he is parked")
	stall.on.Store(true)
	require.NoError(t, rdb.Publish(t.Context(), channel, "0").Err())
	eventually(t, stall.stands.Load, "he goes back to sleep, and does not get to it")
	passed(50 * time.Millisecond) // then the lock has been in the process for so long that ann does not hand it over

	require.NoError(t, l.Unlock(ann))
	got, err := l.TryLock(bob, rlock.Lease(60*time.Millisecond))
	require.NoError(t, err)
	require.True(t, got)
	eventually(t, func() bool { _, held := l.Held(bob); return !held }, "lost")
	eventually(t, func() bool { got, err := l.TryLock(cal); return got && err == nil }, "run out")
	require.NoError(t, l.Unlock(cal))
	stall.on.Store(false)
	close(stall.run)
	require.ErrorIs(t, promptly(t, waiter), rlock.ErrLost)
	require.ErrorIs(t, l.Unlock(bob), rlock.ErrLost)
	requireNothingLeft(t, c)
}

// sleepwalker is a clock that stops one goroutine, as it is about to fall asleep.
type sleepwalker struct {
	who    atomic.Int64
	on     atomic.Bool
	stands atomic.Bool
	run    chan struct{}
}

func (s *sleepwalker) clock() time.Duration {
	if s.on.Load() && goid.Get() == s.who.Load() && fallsAsleep() {
		s.stands.Store(true)
		<-s.run
	}
	return instant()
}

func fallsAsleep() bool {
	stack := make([]byte, 1<<13)
	return strings.Contains(string(stack[:runtime.Stack(stack, false)]), "rlock.(*acquisition).alarms(")
}
