package rlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// A command is sent before the deadline of a hold and answered after it, by the clock of the test. The hold was over in
// between, as Held told, and no answer brings it back: neither before the alarm rings nor after.
func TestNoAnswerRevivesAHoldThatIsOver(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"before the alarm": 100 * time.Millisecond, "after the alarm": 1500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLateAnswer(t)
			h, told := l.hold()
			l.clock.Store(int64(2 * time.Second))
			l.underWay(delay, renewScript, func() {})
			l.requireOver(h)
			requireEnd(t, told)
			assert.ErrorIs(t, context.Cause(told), rlock.ErrLost)
			l.requireOver(h)
			requireLoss(t, h.Release(t.Context()))
		})
	}
}

func TestNoAnswerExtendsAHoldThatIsOver(t *testing.T) {
	t.Parallel()
	l := newLateAnswer(t)
	h, _ := l.hold(rlock.Lease(lateLease))
	l.clock.Store(int64(2 * time.Second))
	l.underWay(100*time.Millisecond, renewScript, func() {
		assert.ErrorIs(t, h.Extend(t.Context(), lateLease), rlock.ErrLost)
	})
	l.requireOver(h)
	requireLoss(t, h.Release(t.Context()))
}

func TestNoAnswerNestsInAHoldThatIsOver(t *testing.T) {
	t.Parallel()
	l := newLateAnswer(t)
	h, told := l.hold()
	l.proxy.HoldRequest(time.Minute, faultproxy.Every, renewScript)
	l.clock.Store(int64(2 * time.Second))
	l.underWay(200*time.Millisecond, acquireScript, func() {
		_, err := l.lock.Acquire(told)
		assert.ErrorIs(t, err, rlock.ErrLost)
	})
	l.requireOver(h)
	requireLoss(t, h.Release(t.Context()))
}

// lateAnswer is a Client whose clock is the test's, and whose commands are held up.
type lateAnswer struct {
	*rig
	clock atomic.Int64
	lock  *rlock.Lock
}

const lateLease = 3 * time.Second

func newLateAnswer(t *testing.T) *lateAnswer {
	t.Helper()
	l := &lateAnswer{rig: newRig(t)}
	l.warm()
	patient := &redis.Options{Addr: l.proxy.Addr(), ReadTimeout: 10 * time.Second} // it reads late answers too
	c := l.clientWith(patient, rlock.WithWatchdogTimeout(lateLease),
		rlock.WithClock(func() time.Duration { return time.Duration(l.clock.Load()) }))
	l.lock = c.NewLock(l.key)
	return l
}

func (l *lateAnswer) hold(opts ...rlock.AcquireOption) (*rlock.Hold, context.Context) {
	l.t.Helper()
	h, err := l.lock.Acquire(freshOwner(l.t), opts...)
	require.NoError(l.t, err)
	told := h.Context()
	return h, told
}

// underWay lets the deadline pass while a command is on its way, and returns when that is answered and call has returned.
func (l *lateAnswer) underWay(delay time.Duration, m faultproxy.Match, call func()) {
	l.t.Helper()
	l.proxy.HoldRequest(delay, 1, m)
	received, answered := l.proxy.Received(m), l.proxy.Answered(m)
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	require.NoError(l.t, l.proxy.WaitReceived(l.t.Context(), m, received+1))
	l.clock.Store(int64(lateLease))
	require.NoError(l.t, l.proxy.WaitAnswered(l.t.Context(), m, answered+1))
	<-done
	passed(20 * time.Millisecond) // until the answer was read
}

func (l *lateAnswer) requireOver(h *rlock.Hold) {
	l.t.Helper()
	require.False(l.t, h.Held())
	require.LessOrEqual(l.t, time.Until(h.ValidUntil()), time.Duration(0))
}
