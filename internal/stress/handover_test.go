package stress_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// P1, P7: two processes hand one lock to and fro while their subscriber connections are killed again and again. The lease is
// long and so is the fallback look, so that only messages, and looks after a reconnection, can wake in time: nobody waits for
// much more than a second without the lock being held.
func TestStress_HandOversBetweenProcesses(t *testing.T) {
	p, s := newPlan(t), newStage(t)
	late := watchStalls(t)
	h := handOvers{s: s, want: int64(tenth(10_000))}
	stop := h.killSubscribers(p.dice("kill"))
	var both sync.WaitGroup
	for _, name := range []string{"ann", "bob"} {
		c := s.start(handRole, name, 30*time.Second)
		assert.NoError(t, c.order(fmt.Sprint("lock ", p.seed)))
		both.Go(func() { h.listen(c, name) })
	}
	from := instant()
	both.Wait()
	stop()
	longest := h.judgeWaits(late)
	t.Logf("%d hand-overs in %v, %d connections killed, the lock was never idle for longer than %v while one waited",
		h.count.Load(), (instant() - from).Round(time.Millisecond), h.kills, longest)
	assert.GreaterOrEqual(t, h.count.Load(), h.want)
	s.requireNoKeys(time.Second)
	s.verdict(&h.history)
	s.requireNoChannels()
}

type handOvers struct {
	s       *stage
	want    int64
	count   atomic.Int64
	kills   int64
	history history

	mu    sync.Mutex // guards turns
	turns []handTurn
}

// listen takes note of what one process tells, until there is enough.
func (h *handOvers) listen(c *child, name string) {
	defer c.kill()
	for told := false; ; {
		line, err := c.line()
		if err != nil {
			if !told {
				h.s.bad.unexpected(err, name)
			}
			return
		}
		u, err := scanTurn(line)
		h.s.bad.unexpected(err, line)
		h.note(u, name)
		if !told && (h.count.Load() >= h.want || h.s.bad.any()) {
			h.s.bad.unexpected(c.order("end"), name)
			told = true
		}
	}
}

func (h *handOvers) note(u handTurn, name string) {
	if u.read != "" && u.read[:3] != name {
		h.count.Add(1)
	}
	h.history.tookTurn(turn{lock: "lock", owner: name, from: u.from, to: u.to})
	h.history.changed(change{lock: "lock", owner: name, read: u.read, wrote: u.wrote, sure: true})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns = append(h.turns, u)
}

// killSubscribers kills all subscriber connections at random moments: often while they are being set up, and sometimes not
// for so long that messages do their work.
func (h *handOvers) killSubscribers(d dice) (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			pause := d.upTo(100 * time.Millisecond)
			if d.chance(0.1) {
				pause = d.upTo(2 * time.Second)
			}
			select {
			case <-over:
				return
			case <-time.After(pause):
			}
			n, err := h.s.raw.Do(context.Background(), "CLIENT", "KILL", "TYPE", "pubsub").Int64()
			h.s.bad.unexpected(err, "CLIENT KILL")
			h.kills += n
		}
	})
	return func() { close(over); running.Wait() }
}

// handOverBound: who is deaf for longer than that looks by himself.
const handOverBound = time.Second

// judgeWaits asserts that nobody waited for longer than that beyond what others held the lock. Turns come in the order of
// the grants, and a wait is its own time less the turns that fell into it.
func (h *handOvers) judgeWaits(late *stalls) (longest time.Duration) {
	slices.SortFunc(h.turns, func(a, b handTurn) int { return cmp.Compare(a.from, b.from) })
	for i, u := range h.turns {
		idle := u.from - u.asked
		for _, other := range slices.Backward(h.turns[:i]) {
			if other.to <= u.asked {
				break
			}
			idle -= other.to - max(other.from, u.asked)
		}
		longest = max(longest, idle)
		if idle > handOverBound+late.within(u.asked, u.from) {
			h.s.bad.add("a wait of %v, in which the lock was free for %v", u.from-u.asked, idle)
		}
	}
	return longest
}
