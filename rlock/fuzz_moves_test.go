package rlock_test

import (
	"context"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

type acquireFunc func(l *rlock.Lock, ctx context.Context) (*rlock.Hold, error)

func acquiring(acquire acquireFunc, lease time.Duration) func(*world, *player, string, int) {
	return func(w *world, p *player, name string, _ int) {
		w.acquire(p, name, p.ctx, lease, 0, acquire)
	}
}

// acquire also allows what the caller's impatience adds.
func (w *world) acquire(p *player, name string, ctx context.Context, lease time.Duration, more verdict, acquire acquireFunc) {
	allowed, from := w.mayAcquire(p, name)|more, time.Now()
	h, err := acquire(p.client.NewLock(name), ctx)
	if w.wires.happened() != noMishap && time.Since(from) >= 300*time.Millisecond {
		allowed |= unheard | inTheWay&w.impatience(from)
	}
	got := verdictOf(err)
	w.allow(got, allowed, err)
	if got == fine {
		synctest.Wait()
		w.entered(p, name, h, from, lease)
	} else if r := p.holds[name]; got == gotLost && r != nil {
		r.lost = true
	}
}

// impatience: only who waited no longer than its wait may call a lock taken that was silent all the time.
func (w *world) impatience(from time.Time) verdict {
	if time.Since(from) <= 600*time.Millisecond {
		return inTheWay
	}
	return 0
}

var leases = []time.Duration{5 * time.Second, 20 * time.Second, 60 * time.Second, 700 * time.Millisecond}

func leased(w *world, p *player, name string, arg int) {
	lease := leases[arg%len(leases)]
	acquiring(func(l *rlock.Lock, ctx context.Context) (*rlock.Hold, error) {
		return nil, tried(l.TryLock(ctx, rlock.Lease(lease)))
	}, lease)(w, p, name, arg)
}

func leasedHandle(w *world, p *player, name string, arg int) {
	lease := leases[arg%len(leases)]
	acquiring(func(l *rlock.Lock, ctx context.Context) (*rlock.Hold, error) {
		return l.TryAcquire(ctx, rlock.Lease(lease))
	}, lease)(w, p, name, arg)
}

// hurried has a context that ends long before Redis is given up.
func hurried(w *world, p *player, name string, _ int) {
	ctx, cancel := context.WithTimeout(p.ctx, 300*time.Millisecond)
	defer cancel()
	w.acquire(p, name, ctx, 0, 0, func(l *rlock.Lock, ctx context.Context) (*rlock.Hold, error) { return nil, l.Lock(ctx) })
}

func unlock(w *world, p *player, name string, _ int) {
	r, i := p.holds[name], -1
	if r != nil {
		for n, l := range r.levels {
			if l.hold == nil {
				i = n
			}
		}
	}
	w.giveBack(p, name, i, p.client.NewLock(name).Unlock)
}

func release(w *world, p *player, name string, arg int) {
	r := p.holds[name]
	if r == nil {
		return
	}
	i := arg % len(r.levels)
	if h := r.levels[i].hold; h != nil {
		w.giveBack(p, name, i, h.Release)
	}
}

// giveBack plays the give-back of a level; -1 is none.
func (w *world) giveBack(p *player, name string, i int, giveBack func(context.Context) error) {
	if i < 0 {
		err := giveBack(p.ctx)
		w.allow(verdictOf(err), notMine, err)
		return
	}
	r := p.holds[name]
	over, certain := r.over(), r.certain(time.Now().Add(opTime))
	err := giveBack(p.ctx)
	got, allowed := verdictOf(err), r.mayLeave(over, certain, w.wires.happened())
	if p.goroutine && over { // who relied on the lease alone is forgotten in time
		allowed |= notMine
	}
	w.allow(got, allowed, err)
	if got == gotLost {
		r.lost = true
	}
	w.left(p, name, i)
}

func releaseAgain(w *world, p *player, _ string, arg int) {
	if len(p.over) == 0 {
		return
	}
	err := p.over[arg%len(p.over)].Release(p.ctx)
	w.allow(verdictOf(err), notMine|gotLost, err)
}

// do takes one level and another within it, and gives both back; where the clock decides nothing.
func do(w *world, p *player, name string, _ int) {
	r, from := p.holds[name], time.Now()
	if r != nil && !r.certain(from.Add(2*opTime)) {
		return
	}
	allowed := w.mayAcquire(p, name)
	err := p.client.NewLock(name).Do(p.ctx, func(ctx context.Context) error {
		l := p.client.NewLock(name)
		if err := l.Lock(ctx); err != nil {
			return err
		}
		return l.Unlock(ctx)
	}, rlock.Wait(500*time.Millisecond))
	if w.wires.happened() != noMishap && time.Since(from) >= 500*time.Millisecond {
		allowed |= unheard
	}
	w.allow(verdictOf(err), allowed, err)
	if r != nil {
		r.most = later(r.most, time.Now().Add(watchdogLease))
	}
}

func extend(w *world, p *player, name string, arg int) {
	r := p.holds[name]
	if r == nil {
		return
	}
	i := arg % len(r.levels)
	l := &r.levels[i]
	if l.hold == nil {
		return
	}
	lease, from := leases[arg%len(leases)], time.Now()
	allowed := r.mayLeave(r.over(), r.certain(from.Add(opTime)), noMishap)
	if l.fixed.IsZero() {
		allowed = allowed&gotLost | unfit
	}
	err := l.hold.Extend(p.ctx, lease)
	w.allow(verdictOf(err), allowed, err)
	if err == nil {
		l.fixed = later(l.fixed, from.Add(lease))
		r.most = later(r.most, time.Now().Add(lease))
	}
}

func forceUnlock(w *world, p *player, name string, _ int) {
	before := w.fields(name)
	removed, err := p.client.NewLock(name).ForceUnlock(p.ctx)
	w.allow(verdictOf(err), fine, err)
	for field := range before {
		_, known := w.strays[field]
		require.True(w.t, removed || known || err != nil, "there was %s", field)
	}
	require.False(w.t, removed && len(before) == 0, "there was nobody")
	for _, other := range w.players {
		r := other.holds[name]
		if r == nil || before[r.field] == "" {
			continue
		}
		if removed {
			r.gone = time.Now()
		}
		if other.client == p.client { // told before Redis is, also if that refuses in the end
			_, held := p.client.NewLock(name).Held(other.ctx)
			require.False(w.t, removed && held && !r.wild)
			r.lost = !held
		}
	}
}

func state(w *world, p *player, name string, _ int) {
	before := w.fields(name)
	s, err := p.client.NewLock(name).State(p.ctx)
	w.allow(verdictOf(err), fine, err)
	if err != nil || w.wires.happened() != noMishap {
		return
	}
	assert.Equal(w.t, len(before) > 0, s.Locked)
	want := 0
	if r := p.holds[name]; r != nil && before[r.field] != "" {
		if _, held := p.client.NewLock(name).Held(p.ctx); held {
			want = len(r.levels)
		}
	}
	assert.Equal(w.t, want, s.Holds)
}

// del is an operator's.
func del(w *world, _ *player, name string, _ int) {
	before := w.fields(name)
	require.NoError(w.t, w.raw.Del(context.Background(), name).Err())
	for _, other := range w.players {
		if r := other.holds[name]; r != nil && before[r.field] != "" {
			r.gone = time.Now()
		}
	}
}

// persist is an operator's too. Nobody mends a lock that nobody renews.
func persist(w *world, _ *player, name string, _ int) {
	for _, p := range w.players {
		if r := p.holds[name]; r != nil && r.certain(time.Now()) {
			require.NoError(w.t, w.raw.Persist(context.Background(), name).Err())
		}
	}
}

var spans = []time.Duration{
	time.Second, 50 * time.Millisecond, 4200 * time.Millisecond, 11 * time.Second, 19500 * time.Millisecond, 45 * time.Second,
}

func pass(_ *world, _ *player, _ string, arg int) { time.Sleep(spans[arg%len(spans)]) }

func flush(w *world, _ *player, _ string, _ int) {
	require.NoError(w.t, w.raw.ScriptFlush(context.Background()).Err())
}

// again delivers what was sent before, be it the first time. Holders keep their fields, though maybe not their counts; and
// where nobody holds, a late acquire may leave a key behind, for a lease.
func again(w *world, _ *player, _ string, arg int) {
	late := w.wires.earlier(arg)
	if late == nil {
		return
	}
	name, script := fmt.Sprint(late[3]), scriptOf(late)
	before := w.fields(name)
	if w.raw.PTTL(context.Background(), name).Val() == -1 {
		return // what an operator did to a key, and what the network does before that is mended, is too much at once
	}
	_ = w.raw.Do(context.Background(), late...).Err() // NOSCRIPT is as good as any answer
	after := w.fields(name)
	for field := range after {
		if before[field] == "" {
			require.Equal(w.t, "acquire", script, "makes a key")
			require.Empty(w.t, w.holders(name, before), "a second holder")
		}
		w.strays[field] = time.Now().Add(2*watchdogLease + time.Second)
	}
	for _, p := range w.players {
		r := p.holds[name]
		switch {
		case r == nil:
		case after[r.field] == "" && before[r.field] != "":
			require.Equal(w.t, "force", script, "takes a hold away")
			r.gone = time.Now()
		case after[r.field] != "":
			r.vague, r.wild = true, r.wild || !r.gone.IsZero()
			r.most = later(r.most, time.Now().Add(2*watchdogLease))
		}
	}
}

// holders are those who hold and whose field stands.
func (w *world) holders(name string, standing map[string]string) (all []*player) {
	for _, p := range w.players {
		r := p.holds[name]
		if _, held := p.client.NewLock(name).Held(p.ctx); held && r != nil && standing[r.field] != "" {
			all = append(all, p)
		}
	}
	return all
}
