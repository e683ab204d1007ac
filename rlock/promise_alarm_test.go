package rlock_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// One renewal fails, in every way there is, while a rival tries to get in all the time. Nobody hears of it, and the key never
// has less than a third of its lease.
func TestP5_OneFailedRenewalIsNoAlarm(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	faults := []func(p *faultproxy.Proxy){
		func(p *faultproxy.Proxy) { p.CutAfterWrite(1, renewScript) },
		func(p *faultproxy.Proxy) { p.DropReply(1, renewScript) },
		func(p *faultproxy.Proxy) { p.HoldRequest(400*time.Millisecond, 1, renewScript) },
		func(p *faultproxy.Proxy) { p.RefuseRequest("-LOADING Redis is loading the dataset", 1, renewScript) },
		func(p *faultproxy.Proxy) { p.RefuseRequest("-ERR something unheard of", 1, renewScript) },
		func(p *faultproxy.Proxy) { p.RefuseRequest("-NOSCRIPT No matching script", 2, renewScript) },
		func(p *faultproxy.Proxy) {
			p.Refuse(true)
			p.Cut()
			time.Sleep(200 * time.Millisecond)
			p.Refuse(false)
		},
	}
	late := watchStalls(t)
	rigs, holds := make([]*rig, len(faults)), make([]*rlock.Hold, len(faults))
	for i := range faults {
		rigs[i] = newRig(t, rlock.WithWatchdogTimeout(lease))
		rigs[i].key = rigs[i].client.ID() // each its own lock
		h, err := rigs[i].client.NewLock(rigs[i].key).Acquire(someone())
		require.NoError(t, err)
		holds[i] = h
	}
	require.NoError(t, crowd(len(faults), len(faults), func(i int) error {
		r, least := rigs[i], lease
		rival := r.newClient(r.srv.Addr()).NewLock(r.key)
		faults[i](r.proxy)
		for end := instant() + 2*lease; instant() < end; time.Sleep(5 * time.Millisecond) {
			ttl, err := r.raw.PTTL(t.Context(), r.key).Result()
			if err != nil {
				return err
			}
			least = min(least, ttl)
			ok, err := rival.TryLock(someone())
			assert.NoError(t, err)
			assert.False(t, ok, "fault %d: another got in", i)
			if !assert.NoError(t, holds[i].Context().Err(), "fault %d: a false alarm", i) {
				break
			}
		}
		assert.Greater(t, least, lease/3-2*late.late(), "fault %d", i)
		return holds[i].Release(t.Context())
	}))
}

// The answers to renewals are slow, but each comes long before the lease that it confirms is over: nothing is lost.
func TestP5_SlowConfirmationsCount(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	r := newRig(t, rlock.WithWatchdogTimeout(lease))
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	r.proxy.DelayReplies(150*time.Millisecond, renewScript) // within the read time-out of the redis client
	passed(2 * lease)
	require.NoError(t, h.Context().Err(), "a false alarm")
	r.proxy.DelayReplies(0, renewScript)
	require.NoError(t, h.Release(t.Context()))
}

// A server that cannot serve for less than the deadline leaves, costs nobody a hold, whatever it says meanwhile.
func TestP5_AnOutageShorterThanTheDeadlineLeavesCostsNothing(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	r := newRig(t, rlock.WithWatchdogTimeout(lease))
	h, err := r.lock.Acquire(someone())
	require.NoError(t, err)
	var told atomic.Bool
	told.Store(false)
	stop := mishaps(20*time.Millisecond, func() {
		if h.Context().Err() != nil || !h.Held() {
			told.Store(true)
		}
	})
	for _, outage := range []func(){
		func() { r.proxy.BlackHole(true) },
		func() { r.proxy.Refuse(true); r.proxy.Cut() },
		func() {
			r.proxy.RefuseRequest("-READONLY You can't write against a read only replica.", faultproxy.Every, renewScript)
		},
	} {
		seen := r.proxy.Answered(renewScript)
		r.eventually(func() bool { return r.proxy.Answered(renewScript) > seen }, "renewed")
		outage()
		passed(1400 * time.Millisecond) // the deadline left 2.7 s, of which a period is gone when the outage is felt
		r.proxy.Cut()
		r.proxy.Heal()
	}
	stop()
	assert.False(t, told.Load(), "a false alarm")
	require.NoError(t, h.Release(t.Context()))
}
