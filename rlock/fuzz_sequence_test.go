package rlock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
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
