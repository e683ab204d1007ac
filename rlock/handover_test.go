package rlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

var handOverScript = faultproxy.Script("handover")

// relay is a lock that ann holds, and for which bob waits in the same process.
type relay struct {
	*rig
	ann, bob context.Context
	waiter   <-chan error
	giveUp   context.CancelFunc
}

func newRelay(t *testing.T, opts ...rlock.AcquireOption) *relay {
	t.Helper()
	r := &relay{rig: newRig(t), ann: someone()}
	r.warm()
	r.bob, r.giveUp = context.WithCancel(someone())
	t.Cleanup(r.giveUp)
	require.NoError(t, r.lock.Lock(r.ann))
	r.waiter = outcome(func() error { return r.lock.Lock(r.bob, opts...) })
	r.parks()
	return r
}

func (r *relay) parks() {
	r.t.Helper()
	r.eventually(func() bool { return r.client.HasParked(r.key) }, "somebody is parked")
}

// handsOver has ann unlock, and returns while the hand-over is on its way, for so long.
func (r *relay) handsOver(d time.Duration) (given <-chan error) {
	r.t.Helper()
	r.proxy.HoldRequest(d, 1, handOverScript)
	given = outcome(func() error { return r.lock.Unlock(r.ann) })
	require.NoError(r.t, r.proxy.WaitReceived(shortly(r.t, 10*time.Second), handOverScript, 1))
	return given
}

// bobHolds: he has one level, his own field alone stands, and one Unlock of his frees the lock.
func (r *relay) bobHolds() {
	r.t.Helper()
	require.NoError(r.t, promptly(r.t, r.waiter))
	_, count := r.field()
	assert.Equal(r.t, "1", count)
	held, ok := r.lock.Held(r.bob)
	require.True(r.t, ok)
	require.True(r.t, held.Held())
	r.taken("he holds it")
	r.bobFrees()
}

func (r *relay) bobFrees() {
	r.t.Helper()
	require.NoError(r.t, r.lock.Unlock(r.bob))
	r.gone(time.Second, "one Unlock frees it")
	r.idle(10 * time.Second)
}

// A lock that somebody of the same process waits for costs one command to hand over, and nobody is told.
func TestHandOver_IsOneCommandAndNoMessage(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	ear := r.raw.Subscribe(t.Context(), rlock.ChannelOf(r.key))
	defer func() { _ = ear.Close() }()
	_, err := ear.Receive(t.Context())
	require.NoError(t, err)
	before := r.proxy.Received(faultproxy.Any)
	released := r.proxy.Received(releaseScript)

	require.NoError(t, r.lock.Unlock(r.ann))
	require.NoError(t, promptly(t, r.waiter))
	assert.Equal(t, 1, r.proxy.Received(handOverScript))
	assert.Equal(t, released, r.proxy.Received(releaseScript))
	assert.LessOrEqual(t, r.proxy.Received(faultproxy.Any), before+2, "the hub may have asked for a sign of life")
	require.NoError(t, r.raw.Publish(t.Context(), rlock.ChannelOf(r.key), "the end").Err())
	message, err := ear.ReceiveMessage(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "the end", message.Payload)
	r.bobFrees()
}

// The hand-over is refused, or its reply is lost, or comes when nobody waits for it any more: the holder's Unlock has released
// the lock, and the waiter takes over from the field that it was named with.
func TestRule12_ALostReplyOfAHandOverStrandsNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(p *faultproxy.Proxy){
		"cut":              func(p *faultproxy.Proxy) { p.CutAfterWrite(1, handOverScript) },
		"lost":             func(p *faultproxy.Proxy) { p.DropReply(1, handOverScript) },
		"refused":          func(p *faultproxy.Proxy) { p.RefuseRequest("-LOADING Redis is loading", 1, handOverScript) },
		"on its way":       func(p *faultproxy.Proxy) { p.HoldRequest(time.Hour, 1, handOverScript) },
		"refused for good": func(p *faultproxy.Proxy) { p.RefuseRequest("-NOPERM no", 1, handOverScript) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, rlock.Lease(5*time.Second)) // for so long a field in doubt is settled
			fault(r.proxy)
			require.NoError(t, r.lock.Unlock(r.ann))
			r.bobHolds()
		})
	}
}

// A hand-over that is repeated by the network, at once or after the next holder nested, changes nothing.
func TestRule12_ARepeatedHandOverChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	r.repeated(handOverScript, func() {
		require.NoError(t, r.lock.Unlock(r.ann))
		require.NoError(t, promptly(t, r.waiter))
		require.NoError(t, r.lock.Lock(r.bob))
	})
	_, count := r.field()
	assert.Equal(t, "2", count)
	require.NoError(t, r.lock.Unlock(r.bob))
	r.bobFrees()
}

// The hand-over is late: by then the lock was released without it, and is another's.
func TestRule12_ALateHandOverTouchesNobody(t *testing.T) {
	t.Parallel()
	r := newRelay(t, rlock.Lease(3*time.Second)) // for so long the field in doubt is settled
	r.proxy.HoldRequest(3*answerTime, 1, handOverScript)
	require.NoError(t, r.lock.Unlock(r.ann), "it was released by other means")
	require.NoError(t, promptly(t, r.waiter))
	require.NoError(t, r.lock.Unlock(r.bob))
	stranger := freshOwner(t)
	require.NoError(t, r.rival.Lock(stranger))
	before := r.fields()
	r.eventually(func() bool { return r.proxy.Answered(handOverScript) == 1 }, "it came")
	assert.Equal(t, before, r.fields())
	require.NoError(t, r.rival.Unlock(stranger))
	r.gone(10*time.Second, "nothing stays")
	r.idle(10 * time.Second)
}

// A waiter that looks for itself is passed over: its look might find the field that it was named with.
func TestRule13_AWaiterThatLooksIsPassedOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	ann, bob := someone(), someone()
	require.NoError(t, r.lock.Lock(ann))
	waiter := outcome(func() error { return r.lock.Lock(bob) })
	r.eventually(func() bool { return r.client.HasParked(r.key) }, "it is parked")
	asked := r.proxy.Received(acquireScript)
	r.proxy.HoldRequest(100*time.Millisecond, 1, acquireScript)
	require.NoError(t, r.raw.Publish(t.Context(), rlock.ChannelOf(r.key), "0").Err())
	r.eventually(func() bool { return r.proxy.Received(acquireScript) > asked }, "it looks")
	require.NoError(t, r.lock.Unlock(ann))
	require.NoError(t, promptly(t, waiter))
	assert.Zero(t, r.proxy.Received(handOverScript))
	require.NoError(t, r.lock.Unlock(bob))
	r.idle(10 * time.Second)
}

// The waiter gives up while the hand-over to it is under way: its caller has the answer at once, and what it was granted is given
// back to those in other processes.
func TestRule13_AWaiterThatLeavesAbandonsTheFieldItWasNamedWith(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	given := r.handsOver(200 * time.Millisecond)
	r.giveUp()
	err := promptly(t, r.waiter)
	assert.Zero(t, r.proxy.Answered(handOverScript), "it does not wait for the answer")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, rlock.ErrNotAcquired)
	require.NoError(t, promptly(t, given))
	r.free(10*time.Second, "long before the lease ends")
	r.idle(10 * time.Second)
}

// While a hand-over names a waiter no other command of its owner is sent: another goroutine of that owner asks afterwards, and
// finds the lock its own.
func TestRule13_TheOwnerOfANamedWaiterAsksNothingElse(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	given := r.handsOver(150 * time.Millisecond)
	asked := r.proxy.Received(acquireScript)
	got, err := r.lock.TryLock(r.bob)
	require.NoError(t, err)
	require.True(t, got)
	assert.Equal(t, asked+1, r.proxy.Received(acquireScript))
	require.NoError(t, promptly(t, given))
	require.NoError(t, promptly(t, r.waiter))
	_, count := r.field()
	assert.Equal(t, "2", count)
	require.NoError(t, r.lock.Unlock(r.bob))
	r.bobFrees()
}

// The waiter's lease replaces the holder's. Who sleeps on the TTL that he saw is told that it is shorter now.
func TestRule14_AHandOverThatShortensTheTTLIsPublished(t *testing.T) {
	t.Parallel()
	r := newRelay(t, rlock.Lease(5*time.Second))
	ear := r.raw.Subscribe(t.Context(), rlock.ChannelOf(r.key))
	defer func() { _ = ear.Close() }()
	_, err := ear.Receive(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.lock.Unlock(r.ann))
	require.NoError(t, promptly(t, r.waiter))
	assert.Equal(t, 1, r.proxy.Received(handOverScript))
	assert.LessOrEqual(t, r.ttl(), 5*time.Second)
	message, err := ear.ReceiveMessage(shortly(t, 10*time.Second))
	require.NoError(t, err)
	assert.Equal(t, "0", message.Payload)
	r.bobFrees()
}

// An operator's DEL, before the lock is handed over: the holder is told of the loss, and the waiter gets in by itself.
func TestHandOver_OfALockThatIsGoneIsALossForOneOnly(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	require.NoError(t, r.raw.Del(t.Context(), r.key).Err())
	require.ErrorIs(t, r.lock.Unlock(r.ann), rlock.ErrLost)
	r.bobHolds()
}

// However many wait in one process, those of another get their turn: a lock is handed over only so often in a row.
func TestHandOver_LeavesTurnsToOtherProcesses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.warm()
	over := make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for ctx := someone(); !isOver(over); {
				assert.NoError(t, r.lock.Do(ctx, func(context.Context) error { return nil }))
			}
		})
	}
	for range 20 {
		ctx := shortly(t, 10*time.Second)
		require.NoError(t, r.rival.Lock(ctx))
		require.NoError(t, r.rival.Unlock(ctx))
	}
	close(over)
	all.Wait()
	handedOver := r.proxy.Received(handOverScript)
	assert.Positive(t, handedOver)
	assert.LessOrEqual(t, handedOver, 16*(r.proxy.Received(releaseScript)+1), "so often in a row")
	r.idle(10 * time.Second)
}

// A crowd in one process: about one command per turn, and everybody has as many of them.
func TestCostOfACrowdInOneProcess(t *testing.T) {
	srv := redistest.Start(t)
	raw, c := srv.Raw(t), clientOf(t, srv)
	lock := c.NewLock(t.Name())
	require.NoError(t, lock.Do(t.Context(), func(context.Context) error { return nil }))
	const crowd, turns = 16, 100
	before := scriptsRun(t, raw)
	var all sync.WaitGroup
	for range crowd {
		ctx := someone()
		all.Go(func() {
			for range turns {
				assert.NoError(t, lock.Do(ctx, func(context.Context) error { return nil }))
			}
		})
	}
	all.Wait()
	perTurn := float64(scriptsRun(t, raw)-before) / (crowd * turns)
	t.Logf("%.2f commands per turn", perTurn)
	assert.Less(t, perTurn, 1.3)
	requireNothingLeft(t, c)
}
