package rlock_test

// The faults of leases that are reset, inherited, mixed or endless: W9, W10, W17 and W18.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// Attacks promises P6 and P10: requests end in a panic that their server recovers from, and nobody has a reference to their
// holds any more. What keeps such a lock from being renewed for ever is offered in three ways: Do gives it back on the way out;
// a context can give it back when it ends; MaxHold ends it by the clock. A plain Lock has none of them: it is renewed until the
// Client is closed, and runs out by its lease then.
func TestFault_W9_WhatBoundsTheLockOfAGoroutineThatDied(t *testing.T) {
	t.Parallel()
	const watchdog, limit = 900 * time.Millisecond, 1200 * time.Millisecond
	r := newRig(t)
	r.knowRenewal()
	c := r.newClient(r.proxy.Addr(), rlock.WithWatchdogTimeout(watchdog))
	request, cancel := context.WithCancel(context.Background())
	for name, work := range map[string]func(l *rlock.Lock){
		":do": func(l *rlock.Lock) { _ = l.Do(someone(), func(context.Context) error { panic("a bug") }) },
		":context": func(l *rlock.Lock) {
			h, err := l.Acquire(someone())
			require.NoError(t, err)
			context.AfterFunc(request, func() { assert.NoError(t, h.Release(context.Background())) })
			panic("a bug")
		},
		":limit": func(l *rlock.Lock) { require.NoError(t, l.Lock(someone(), rlock.MaxHold(limit))); panic("a bug") },
		":plain": func(l *rlock.Lock) { require.NoError(t, l.Lock(someone())); panic("a bug") },
	} {
		serve(func() { work(c.NewLock(r.key + name)) })
	}
	limited := time.Now().Add(limit)
	there := func(name string) bool { return r.raw.Exists(t.Context(), r.key+name).Val() == 1 }
	assert.False(t, there(":do"), "given back by the time that the panic is out")
	require.True(t, there(":context"))
	cancel()
	r.eventually(func() bool { return !there(":context") }, "given back with the request")

	runtime.GC()
	runtime.GC()
	r.eventually(func() bool { return !there(":limit") }, "ended by MaxHold")
	assert.WithinRange(t, time.Now(), limited.Add(-limit), limited.Add(5*time.Second))
	renewed := r.proxy.Answered(renewScript)
	require.NoError(t, r.proxy.WaitAnswered(t.Context(), renewScript, renewed+4), "longer than a lease")
	assert.True(t, there(":plain"), "renewed as long as the Client lives")
	err := c.Close(ended())
	require.ErrorContains(t, err, r.key+":plain", "the leak is reported")
	seen := r.proxy.Received(renewScript)
	r.eventually(func() bool { return !there(":plain") }, "run out")
	assert.Equal(t, seen, r.proxy.Received(renewScript))
}

// Attacks promise P4: a holder that is alive and well loops for ever, renews nothing by itself and even goes in and out of
// nested levels. MaxHold ends its hold: the watchdog does not prolong it beyond that, nor do the levels. The holder is told why
// before the one that waits gets in, which is not later than MaxHold and one lease.
func TestFault_W10_ALoopingHolderIsEndedByMaxHold(t *testing.T) {
	t.Parallel()
	const limit, lease = time.Second, 300 * time.Millisecond
	late, r := watchStalls(t), newRig(t, rlock.WithWatchdogTimeout(lease))
	r.warm()
	ctx := someone()
	h, err := r.lock.Acquire(ctx, rlock.MaxHold(limit))
	require.NoError(t, err)
	taken := time.Now()
	looping := outcome(func() error {
		for {
			if err := r.lock.Do(ctx, func(context.Context) error { return nil }); err != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	waiter := someone()
	require.NoError(t, r.rival.Lock(waiter, rlock.Wait(20*time.Second)))
	in := time.Since(taken)
	assert.False(t, h.Held())
	assert.Less(t, in, limit+lease+lease/2+4*late.late())
	requireEnd(t, h.Context())
	cause := context.Cause(h.Context())
	require.ErrorIs(t, cause, rlock.ErrLost)
	require.ErrorIs(t, inTime(t, 10*time.Second, looping, "the loop"), rlock.ErrLost)
	assert.Equal(t, errors.Is(cause, rlock.ErrMaxHold), errors.Is(h.Release(ctx), rlock.ErrMaxHold), "one reason")
	if !errors.Is(cause, rlock.ErrMaxHold) {
		assert.Greater(t, late.late(), 30*time.Millisecond, "only a machine that stands still makes it a loss of another kind")
	}
	require.NoError(t, r.rival.Unlock(waiter), "the late release touched nobody")
	r.idle(10 * time.Second)
}

// Attacks promise P6: a lock remembers no lease. Through one handle come a lease of an hour, none, and ten seconds twice; each
// time the key has what was asked for, and to give a level back does not change it.
func TestFault_W17_ALeaseIsThatOfItsOwnCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := someone()
	for _, lease := range []time.Duration{time.Hour, 0, 10 * time.Second, 0, time.Minute} {
		want, opts := 30*time.Second, []rlock.AcquireOption(nil)
		if lease > 0 {
			want, opts = lease, []rlock.AcquireOption{rlock.Lease(lease)}
		}
		began := time.Now()
		require.NoError(t, r.lock.Lock(ctx, opts...))
		assertLease(t, want, began, r.ttl())
		require.NoError(t, r.lock.Lock(ctx, opts...))
		require.NoError(t, r.lock.Unlock(ctx))
		assertLease(t, want, began, r.ttl())
		require.NoError(t, r.lock.Unlock(ctx))
		assert.Empty(t, r.fields())
	}
}

// Attacks promise P6: goroutines with different leases share handles, of one lock and of several. Whoever is in has the lease
// that it asked for, and no other; nested, the longer of its own.
func TestFault_W17_LeasesOfConcurrentCallsDoNotMix(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	handles := []*rlock.Lock{r.lock, r.client.NewLock(r.key + ":other")}
	wanted := []time.Duration{0, time.Hour, 10 * time.Minute, 2 * time.Hour}
	require.NoError(t, crowd(len(wanted), 300, func(i int) error {
		l, lease := handles[i/len(wanted)%len(handles)], wanted[i%len(wanted)]
		want, opts := 30*time.Second, []rlock.AcquireOption(nil)
		if lease > 0 {
			want, opts = lease, []rlock.AcquireOption{rlock.Lease(lease)}
		}
		ctx, began := someone(), time.Now()
		if err := l.Lock(ctx, opts...); err != nil {
			return err
		}
		if i%2 == 0 && lease > 0 {
			want = max(want, time.Hour+time.Minute)
			if err := l.Lock(ctx, rlock.Lease(time.Hour+time.Minute)); err != nil {
				return err
			}
			if err := l.Unlock(ctx); err != nil {
				return err
			}
		}
		ttl := r.raw.PTTL(t.Context(), l.Name()).Val()
		if ttl > want || ttl < want-time.Since(began)-time.Second {
			return fmt.Errorf("asked for %v, got %v", want, ttl)
		}
		return l.Unlock(ctx)
	}))
	assert.Zero(t, r.client.Leftovers().Tenures)
}

// Attacks promise P6: a level without a lease, one with a short and one with a long lease are taken in every order, and given
// back in every order. At no time has the key less than what an open level was promised; it is renewed as long as the level
// without a lease is open, and no longer.
func TestFault_W18_LevelsOfAllKindsInEveryOrder(t *testing.T) {
	t.Parallel()
	const watchdog = 900 * time.Millisecond
	calmly(t, watchdog/12, newOwnRig(rlock.WithWatchdogTimeout(watchdog)), func(f *trial, r *rig) {
		orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
		require.NoError(f, crowd(len(orders)*len(orders), len(orders)*len(orders), func(i int) error {
			m := mixture{rig: r, lock: r.client.NewLock(r.key + ":" + strconv.Itoa(i)), ctx: someone(), watchdog: watchdog}
			return m.run(orders[i%len(orders)], orders[i/len(orders)])
		}))
		r.idle(10 * time.Second)
	})
}

// serve is a server that survives what it serves.
func serve(request func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = recover() }()
		request()
	}()
	<-over
}

// mixture is a hold of three levels: 0 has no lease, 1 a short one and 2 a long one.
type mixture struct {
	*rig
	lock     *rlock.Lock
	ctx      context.Context
	watchdog time.Duration
	open     map[int]*rlock.Hold
	asked    time.Time // when the long lease was
	had      time.Time // when it had been granted
}

const shortLease, longLease = 600 * time.Millisecond, time.Minute

func (m *mixture) run(take, giveBack []int) (err error) {
	options := [][]rlock.AcquireOption{{}, {rlock.Lease(shortLease)}, {rlock.Lease(longLease)}}
	m.open = map[int]*rlock.Hold{}
	for _, kind := range take {
		began := time.Now()
		if m.open[kind], err = m.lock.Acquire(m.ctx, options[kind]...); err != nil {
			return err
		}
		if kind == 2 {
			m.asked, m.had = began, time.Now()
		}
	}
	for _, kind := range giveBack {
		time.Sleep(shortLease + rand.N(shortLease/2))
		if err := m.check(); err != nil {
			return fmt.Errorf("taken %v, given back %v, before %d: %w", take, giveBack, kind, err)
		}
		if err := m.open[kind].Release(m.ctx); err != nil && (len(m.open) > 1 || kind != 1) {
			return err
		}
		delete(m.open, kind)
	}
	return nil
}

// check compares the TTL with what the open levels were promised.
func (m *mixture) check() error {
	asked := time.Now()
	ttl := m.raw.PTTL(context.Background(), m.lock.Name()).Val()
	_, renewed := m.open[0]
	_, long := m.open[2]
	switch {
	case renewed && ttl < m.watchdog/3:
		return fmt.Errorf("not renewed: %v", ttl)
	case !renewed && long && ttl < longLease-time.Since(m.asked)-cut:
		return fmt.Errorf("shorter than its lease: %v", ttl)
	case ttl > m.watchdog && ttl > longLease-asked.Sub(m.had)+time.Second: // what the release that asked for it took, and more
		return fmt.Errorf("longer than any lease: %v", ttl)
	}
	for kind, h := range m.open {
		if !h.Held() && (renewed || long) {
			return fmt.Errorf("level %d is lost", kind)
		}
	}
	if !renewed && !long && ttl <= m.watchdog {
		return m.ends()
	}
	return nil
}

// ends: with the short lease alone, nobody keeps the key.
func (m *mixture) ends() error {
	for _, h := range m.open {
		select {
		case <-h.Context().Done():
		case <-time.After(5 * m.watchdog):
			return errors.New("endless")
		}
	}
	return nil
}
