package stress_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// P1, P2, P4: a black hole opens at a random moment of a hold. When a rival with a direct line gets in, the holder has been
// told, every time: Held says no and the context has ended. What gathered in the hole reaches the server later, and is no
// harm to the rival.
func TestStress_BlackHoles(t *testing.T) {
	const lanes = 10
	p, s := newPlan(t), newStage(t)
	a := holes{s: s, late: watchStalls(t), rival: s.direct()}
	var networks []network
	for lane := range lanes {
		lease := []time.Duration{500 * time.Millisecond, 900 * time.Millisecond, 1500 * time.Millisecond}[lane%3]
		proxy := s.proxy()
		c := s.client(hasty(proxy.Addr(), 300*time.Millisecond), rlock.WithWatchdogTimeout(lease))
		networks = append(networks, network{proxy, c, lease})
	}
	n := tenth(200)
	crew(lanes, n, func(worker, i int) { a.one(networks[worker], p.dice("hole", i), fmt.Sprint("lock", i)) })
	t.Logf("%d black holes; the holder was told %v before the rival got in at the latest; late by the machine's fault: %d",
		n, time.Duration(a.closest.Load()).Round(time.Microsecond), a.excused.Load())
	s.requireNoKeys(2500 * time.Millisecond)
	s.verdict(&a.history)
	s.closeAll()
	s.requireNoChannels()
}

type network struct {
	proxy  *faultproxy.Proxy
	client *rlock.Client
	lease  time.Duration
}

type holes struct {
	s       *stage
	late    *stalls
	rival   *rlock.Client
	history history
	closest atomic.Int64 // the shortest time between the news and the rival's grant
	excused atomic.Int64
}

// one is one black hole.
func (a *holes) one(n network, d dice, name string) {
	h, err := n.client.NewLock(name).Acquire(someone())
	if err != nil {
		a.s.bad.unexpected(err, "the holder")
		return
	}
	u, told := turn{lock: name, owner: "holder", from: instant()}, h.Context()
	news := make(chan time.Duration, 1)
	context.AfterFunc(told, func() { news <- instant() })
	rival, ctx := a.rival.NewLock(name), someone()
	granted := make(chan error, 1)
	wait := func() { granted <- rival.Lock(ctx) }
	early := d.chance(0.5)
	if early {
		go wait()
	}
	time.Sleep(d.upTo(n.lease))
	n.proxy.BlackHole(true)
	if d.chance(0.3) {
		n.proxy.Cut()
	}
	if !early {
		go wait()
	}
	a.s.bad.unexpected(<-granted, "the rival")
	a.judge(n, h, told, news, u)
	n.proxy.BlackHole(false)
	time.Sleep(d.upTo(n.lease / 3)) // for what gathered to arrive
	if shown, ok := rival.Held(ctx); !ok || !shown.Held() {
		a.s.bad.add("the rival of %s lost the lock", name)
	}
	a.s.bad.unexpected(rival.Unlock(ctx), "the rival's unlock")
	n.proxy.Cut() // the next hold starts on good connections
}

// judge is called at the moment at which the rival is inside.
func (a *holes) judge(n network, h *rlock.Hold, told context.Context, news chan time.Duration, u turn) {
	held, end, inside := h.Held(), told.Err(), instant()
	u.to = inside + min(time.Until(h.ValidUntil()), 0)
	a.history.tookTurn(u)
	a.history.tookTurn(turn{lock: u.lock, owner: "rival", from: inside, to: inside + 1})
	if held {
		a.s.bad.add("%s: the rival is inside, and Held says yes", u.lock)
	}
	at := <-news
	if !errors.Is(context.Cause(told), rlock.ErrLost) {
		a.s.bad.add("%s: the context ended for another reason: %v", u.lock, context.Cause(told))
	}
	if at < u.to-time.Millisecond {
		a.s.bad.add("%s: a false alarm, %v before the end of the hold", u.lock, u.to-at)
	}
	// The timer of the context runs on this machine: what that is late by, beyond the margin, is not the engine's.
	switch excuse := a.late.within(u.to, inside); {
	case end != nil:
		a.close(inside - at)
	case excuse > margin(n.lease)/2:
		a.excused.Add(1)
	default:
		a.s.bad.add("%s: the rival is inside, and the context lives; it ended %v later, and the machine was late by %v",
			u.lock, at-inside, excuse)
	}
	if err := h.Release(context.Background()); !errors.Is(err, rlock.ErrLost) {
		a.s.bad.add("%s: the release of the lost hold: %v", u.lock, err)
	}
}

func (a *holes) close(d time.Duration) {
	for {
		old := a.closest.Load()
		if old != 0 && old <= int64(d) || a.closest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// margin is how much earlier than its lease a hold is over for its holder, as documented.
func margin(lease time.Duration) time.Duration {
	return min(max(lease/10, 50*time.Millisecond), time.Second, lease/3)
}
