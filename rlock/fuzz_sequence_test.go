package rlock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// FuzzSequence plays what the bytes say, three to a step: what is done, who does it on which lock, and what befalls the
// commands meanwhile. Three owners, two of one Client and one of another, one of them a goroutine, share two locks. After
// each step what they were told is compared with the reference, and that with Redis.
//
// P1, P2, P3, P4, P5, P6, P9, P10: whatever is lost, repeated, late or refused, holders and counts are as the callers were told, who
// holds is right to believe it, and when all is given back nothing is left.
func FuzzSequence(f *testing.F) {
	for _, seed := range sequenceSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		const longest = 40
		inBubble(t, func(t *testing.T, mini *miniredis.Miniredis, raw *redis.Client, wires *wires, c [2]*rlock.Client) {
			w := newWorld(t, mini, raw, wires, c)
			defer w.tellStory(t)
			for i := 0; i+2 < len(script) && i < 3*longest; i += 3 {
				w.step(script[i], script[i+1], script[i+2])
			}
			w.finish()
		})
	})
}

func newWorld(t *testing.T, mini *miniredis.Miniredis, raw *redis.Client, wires *wires, c [2]*rlock.Client) *world {
	t.Helper()
	return &world{
		t: t, mini: mini, raw: raw, wires: wires, strays: map[string]time.Time{},
		players: [3]*player{
			{client: c[0], ctx: someone(), holds: map[string]*record{}},
			{client: c[0], ctx: context.Background(), goroutine: true, holds: map[string]*record{}},
			{client: c[1], ctx: someone(), holds: map[string]*record{}},
		},
	}
}

// move is a kind of step. arg is what is left of the second byte.
type move struct {
	name string
	play func(w *world, p *player, name string, arg int)
}

var moves = []move{
	{"TryLock", acquiring(func(l *rlock.Lock, ctx context.Context) (*rlock.Hold, error) { return nil, tried(l.TryLock(ctx)) }, 0)},
	{"Unlock", unlock},
	{"TryAcquire", acquiring(func(l *rlock.Lock, ctx context.Context) (*rlock.Hold, error) { return l.TryAcquire(ctx) }, 0)},
	{"Release", release},
	{"Lock with Lease", leased},
	{"Acquire with Lease", leasedHandle},
	{"Lock with Wait", acquiring(func(l *rlock.Lock, ctx context.Context) (*rlock.Hold, error) {
		return nil, l.Lock(ctx, rlock.Wait(500*time.Millisecond))
	}, 0)},
	{"Lock in a hurry", hurried},
	{"Do", do},
	{"Extend", extend},
	{"ForceUnlock", forceUnlock},
	{"State", state},
	{"Release again", releaseAgain},
	{"DEL", del},
	{"PERSIST", persist},
	{"time passes", pass},
	{"SCRIPT FLUSH", flush},
	{"an earlier command arrives", again},
}

func (w *world) step(what, who, mishapByte byte) {
	m := moves[int(what)%len(moves)]
	p, name, arg := int(who)%3, int(who)/3%2, int(who)/6
	trouble, skip := mishap(mishapByte%byte(mishapKinds)), int(mishapByte)/int(mishapKinds)%3
	w.story = append(w.story, fmt.Sprintf("%v player %d: %s %s (%d), mishap %d after %d", time.Now().Format("04:05.000"),
		p, m.name, lockNames[name], arg, trouble, skip))
	w.wires.arm(trouble, skip)
	m.play(w, w.players[p], lockNames[name], arg)
	w.rest()
}

// rest lets the background finish what a mishap has left to do, and compares.
func (w *world) rest() {
	synctest.Wait()
	if w.wires.happened() != noMishap {
		time.Sleep(3 * time.Second)
		synctest.Wait()
	}
	w.check()
}

func (w *world) tellStory(t *testing.T) {
	t.Helper()
	if t.Failed() {
		for _, line := range w.story {
			t.Log(line)
		}
	}
}

func (w *world) allow(got, allowed verdict, err error) {
	if w.wires.happened() == refusedForGood {
		allowed |= refused
	}
	w.story = append(w.story, fmt.Sprintf("    %v", err))
	require.NotZero(w.t, got&allowed, "%b, but %b was expected: %v", got, allowed, err)
}

func tried(ok bool, err error) error {
	if err == nil && !ok {
		return rlock.ErrNotAcquired
	}
	return err
}

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

// finish gives everything back, lets time settle what is open, and looks for what is left.
func (w *world) finish() {
	w.wires.arm(noMishap, 0)
	for _, p := range w.players {
		for _, name := range lockNames {
			for p.holds[name] != nil {
				r := p.holds[name]
				if i := len(r.levels) - 1; r.levels[i].hold != nil {
					release(w, p, name, i)
				} else {
					unlock(w, p, name, 0)
				}
				w.rest()
			}
		}
	}
	time.Sleep(3 * watchdogLease)
	synctest.Wait()
	require.Empty(w.t, w.mini.Keys())
	for _, p := range w.players {
		for _, name := range lockNames {
			acquiring(func(l *rlock.Lock, ctx context.Context) (*rlock.Hold, error) { return nil, tried(l.TryLock(ctx)) }, 0)(w, p, name, 0)
			unlock(w, p, name, 0)
		}
		require.Zero(w.t, p.client.Leftovers())
	}
	time.Sleep(10 * time.Second) // the last channel lingers
	require.Empty(w.t, w.mini.Keys())
	require.Empty(w.t, w.mini.PubSubChannels("*"))
}

// The seeds are plays that have an end in mind; steps says them in words.
var sequenceSeeds = [][]byte{
	steps("TryLock", 0, "TryLock", 0, "Unlock", 0, "Unlock", 0),
	steps("TryLock", 0, "TryLock", 1, "TryLock", 2, "Unlock", 0, "TryLock", 2, "Unlock", 1),
	steps("TryAcquire", 2, "Lock with Wait", 0, "time passes", 3*6, "Release", 2, "Release again", 2),
	steps("Lock with Lease", 1, "time passes", 3*6, "TryLock", 1, "Unlock", 1, "Unlock", 1),
	steps("Acquire with Lease", 0, "Extend", 6, "time passes", 3*6, "TryLock", 2, "Release", 0),
	steps("TryLock", 0, "DEL", 0, "TryLock", 2, "TryLock", 0, "Unlock", 0, "TryLock", 0, "Unlock", 2),
	steps("TryLock", 0, "ForceUnlock", 2, "time passes", 5*6, "TryLock", 2, "Unlock", 0),
	steps("TryLock", 0, "PERSIST", 0, "time passes", 3*6, "Do", 0, "Unlock", 0),
	steps("TryLock", 0, "SCRIPT FLUSH", 0, "TryLock", 0, "SCRIPT FLUSH", 0, "time passes", 3*6, "SCRIPT FLUSH", 0, "Unlock", 0),
	steps("TryLock", 0, "Unlock", 0, "an earlier command arrives", 6, "TryLock", 0, "TryLock", 2, "time passes", 5*6),
	mishappen(replyLost, steps("TryLock", 0, "TryLock", 0, "Unlock", 0, "Unlock", 0, "TryLock", 2)),
	mishappen(requestHeld, steps("TryLock", 0, "Lock in a hurry", 2, "Unlock", 0, "an earlier command arrives", 12, "TryLock", 1)),
	mishappen(requestTwice, steps("TryLock", 0, "TryLock", 0, "Unlock", 0, "Unlock", 0)),
	mishappen(lineCut, steps("Lock in a hurry", 0, "Do", 0, "time passes", 5*6, "Unlock", 0)),
	mishappen(refusedForNow, steps("TryLock", 0, "time passes", 3*6, "Unlock", 0, "ForceUnlock", 1)),
	mishappen(refusedForGood, steps("TryLock", 0, "TryLock", 0, "Unlock", 0, "State", 0, "Unlock", 0)),
}

// steps are pairs of a move and its second byte.
func steps(words ...any) (script []byte) {
	for i := 0; i < len(words); i += 2 {
		for n, m := range moves {
			if m.name == words[i] {
				script = append(script, byte(n), byte(words[i+1].(int)), 0)
			}
		}
	}
	return script
}

// mishappen lets the same befall every step.
func mishappen(m mishap, script []byte) []byte {
	for i := 2; i < len(script); i += 3 {
		script[i] = byte(m)
	}
	return script
}
