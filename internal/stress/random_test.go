package stress_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

const (
	randomClients = 8 // as of so many processes, each with a network of its own
	randomOwners  = 8 // of each Client
	randomNames   = 8
	randomLease   = 3 * time.Second // the watchdog's, and longer than every fixed one
	fixedLease    = time.Second     // the longest
	// A reply that is lost costs this much. It is long, because a client that gives up on a machine that is only slow
	// makes it slower still: the connection goes with the reply.
	randomAnswer   = time.Second
	latest         = 400 * time.Millisecond // the most that a request is late
	deepest        = 4
	eachPatience   = 90 * time.Second // no operation takes longer
	randomPatience = 60 * time.Second // the longest wait for a lock, among so many others
)

// P1, P2, P3, P5, P9: random operations of many owners on few names, while the networks lose a tenth of all replies, deliver
// one request in twenty late and one in fifty twice. What each owner is told fits what it did; no hold is taken away before
// it is over; nobody is inside with another; at the end no key is left.
func TestStress_RandomOperations(t *testing.T) {
	p, s := newPlan(t), newStage(t)
	r := &random{p: p, s: s, budget: int64(tenth(100_000)), told: map[string]int{}}
	var crowd sync.WaitGroup
	for i := range randomClients {
		proxy := s.proxy()
		r.trouble(proxy, i)
		c := s.client(hasty(proxy.Addr(), randomAnswer),
			rlock.WithWatchdogTimeout(randomLease))
		for n := range randomOwners {
			crowd.Go(func() { r.live(c, i, n) })
		}
	}
	stop := r.census()
	from := instant()
	crowd.Wait()
	stop()
	t.Logf("%d operations in %v, %d replies lost, %d requests late, %d twice; %d turns, %d changes",
		r.done.Load(), (instant() - from).Round(time.Millisecond), r.lost.Load(), r.late.Load(), r.twice.Load(),
		len(r.history.turns), len(r.history.changes))
	t.Logf("what the owners were told: %v", r.told)
	assert.NotEmpty(t, r.history.changes)
	s.requireNoKeys(latest + randomLease + time.Second)
	s.verdict(&r.history)
	s.closeAll()
	s.requireNoChannels()
}

// random is one such attack.
type random struct {
	p       plan
	s       *stage
	history history
	budget  int64 // operations in all
	done    atomic.Int64
	values  atomic.Int64 // numbers the values that are written

	lost, late, twice atomic.Int64

	mu   sync.Mutex // guards told
	told map[string]int
}

// trouble sets up the mishaps of one network. Each kind has dice of its own, because the proxy asks in no fixed order. The
// proxy asks about one request at a time.
func (r *random) trouble(proxy *faultproxy.Proxy, client int) {
	some := func(kind string, of float64, count *atomic.Int64) faultproxy.Match {
		d := r.p.dice("network "+kind, client)
		return func(cmd []string) bool {
			if isGreeting(cmd) || !d.chance(of) {
				return false
			}
			count.Add(1)
			return true
		}
	}
	proxy.DropReply(faultproxy.Every, some("drop", 0.01, &r.lost))
	proxy.CutAfterWrite(faultproxy.Every, some("cut", 0.09, &r.lost))
	const ms = time.Millisecond
	for i, delay := range []time.Duration{5 * ms, 20 * ms, 50 * ms, 100 * ms, latest} {
		proxy.HoldRequest(delay, faultproxy.Every, some(fmt.Sprint("late", i), 0.01, &r.late))
		proxy.RepeatRequest(delay, faultproxy.Every, faultproxy.And(isScript, some(fmt.Sprint("twice", i), 0.004, &r.twice)))
	}
}

// isGreeting: what a new connection starts with. A client that can no more connect than ask would show nothing about locks.
func isGreeting(cmd []string) bool {
	return faultproxy.Or(faultproxy.Command("hello"), faultproxy.Command("client"))(cmd)
}

// isScript: all that the engine asks of a lock. To subscribe twice would be a matter between two connections.
func isScript(cmd []string) bool {
	return faultproxy.Or(faultproxy.Command("eval"), faultproxy.Command("evalsha"))(cmd)
}

// census looks at Redis itself all the while: one lock has one holder, and a count is never more than an owner can have.
func (r *random) census() (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	d := r.p.dice("census")
	running.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(d.upTo(5 * time.Millisecond)):
			}
			name := fmt.Sprint("lock", d.IntN(randomNames))
			all, err := r.s.raw.HGetAll(context.Background(), name).Result()
			r.s.bad.unexpected(err, "looking at Redis")
			if len(all) > 1 {
				r.s.bad.add("%s has several fields: %v", name, all)
			}
			for count := range maps.Values(all) {
				if count < "1" || count > fmt.Sprint(deepest) || len(count) > 1 {
					r.s.bad.add("%s has a count that nobody asked for: %v", name, all)
				}
			}
		}
	})
	return func() { close(over); running.Wait() }
}

// live is the life of one owner: section after section, each of which is the seed's. Every other owner is a goroutine, as in
// ported code; the others are carried by a context.
func (r *random) live(c *rlock.Client, client, number int) {
	ctx := context.Background()
	if number%2 == 0 {
		ctx = someone()
	}
	o := &owner{random: r, name: fmt.Sprintf("owner %d of client %d", number, client), ported: number%2 == 1}
	for i := 0; r.done.Load() < r.budget && !r.s.bad.any(); i++ {
		d := r.p.dice("section", client, number, i)
		section := newStep(d, o.ported, 1)
		o.lock = c.NewLock(fmt.Sprint("lock", d.IntN(randomNames)))
		o.enter(ctx, section)
	}
}

func (r *random) tell(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[what]++
}

// verb is an operation of the plan.
type verb string

const (
	lockVerb       verb = "Lock"
	tryLockVerb    verb = "TryLock"
	acquireVerb    verb = "Acquire"
	tryAcquireVerb verb = "TryAcquire"
	doVerb         verb = "Do"
	stateVerb      verb = "State"
	strayVerb      verb = "Unlock of nothing"
	extendVerb     verb = "Extend"
	workVerb       verb = "work"
)

// step is an operation with all that is to happen while what it took is held.
type step struct {
	verb   verb
	wait   time.Duration // 0: the verb's own way
	lease  time.Duration // 0: renewed
	cancel time.Duration // when the context of the call ends; 0: it does not
	work   time.Duration
	inner  []step
}

// newStep draws a section from its dice, before any of it is done. An owner by its goroutine uses fixed leases for one level
// alone: when such a lease is over, that owner starts afresh, and the levels above would be another hold's.
func newStep(d dice, ported bool, depth int) step {
	st := step{
		verb: pick(d, lockVerb, lockVerb, tryLockVerb, tryLockVerb, acquireVerb, tryAcquireVerb, doVerb),
		work: d.upTo(2 * time.Millisecond),
	}
	if d.chance(0.5) {
		st.wait = d.between(time.Millisecond, 300*time.Millisecond)
	}
	if d.chance(0.1) {
		st.cancel = d.between(time.Millisecond, 100*time.Millisecond)
	}
	if d.chance(0.005) {
		st.work = d.upTo(3 * fixedLease / 2)
	}
	if d.chance(0.2) && (!ported || depth == 1) {
		st.lease = d.between(100*time.Millisecond, fixedLease)
	}
	deeper := depth < deepest && (!ported || st.lease == 0)
	for range d.IntN(4) {
		if deeper && d.chance(0.4) {
			st.inner = append(st.inner, newStep(d, ported, depth+1))
		} else {
			st.inner = append(st.inner, step{
				verb: pick(d, stateVerb, strayVerb, extendVerb, workVerb, workVerb), work: d.upTo(time.Millisecond),
				lease: d.between(100*time.Millisecond, fixedLease),
			})
		}
	}
	return st
}

// owner is one caller, who does one thing after the other.
type owner struct {
	*random
	name   string
	ported bool
	lock   *rlock.Lock
	hold   *possession // nil: it holds nothing
}

// enter does a step that takes the lock, all within it, and gives back.
func (o *owner) enter(ctx context.Context, st step) {
	if o.hold == nil {
		o.idle(ctx, st)
	}
	call, cancel := ctx, context.CancelFunc(func() {})
	if st.cancel > 0 {
		call, cancel = context.WithTimeout(ctx, st.cancel)
	} else if o.hold == nil {
		call, cancel = context.WithTimeout(ctx, randomPatience)
	}
	defer cancel()
	switch st.verb {
	case doVerb:
		o.do(call, ctx, st)
	case acquireVerb, tryAcquireVerb:
		o.acquire(call, ctx, st)
	default:
		o.take(call, ctx, st)
	}
}

// idle is what an owner without a hold may do besides.
func (o *owner) idle(ctx context.Context, st step) {
	if st.work%5 == 0 {
		o.state(ctx)
	}
	if st.work%7 == 0 {
		o.stray(ctx)
	}
}

func (o *owner) options(st step) (opts []rlock.AcquireOption) {
	if st.wait > 0 {
		opts = append(opts, rlock.Wait(st.wait))
	}
	if st.lease > 0 {
		opts = append(opts, rlock.Lease(st.lease))
	}
	return opts
}

// take is Lock or TryLock, and Unlock.
func (o *owner) take(call, ctx context.Context, st step) {
	got := true
	err := o.timed(st.verb, func() (err error) {
		if st.verb == tryLockVerb {
			got, err = o.lock.TryLock(call, o.options(st)...)
			return err
		}
		return o.lock.Lock(call, o.options(st)...)
	})
	if err != nil || !got {
		o.refused(st, call, err)
		return
	}
	level := o.granted(ctx, st)
	level.verbs++
	o.inside(ctx, st)
	level.verbs--
	o.giveBack("Unlock", func() error { return o.lock.Unlock(ctx) })
}

// acquire is Acquire or TryAcquire, and Release.
func (o *owner) acquire(call, ctx context.Context, st step) {
	var h *rlock.Hold
	err := o.timed(st.verb, func() (err error) {
		if st.verb == tryAcquireVerb {
			h, err = o.lock.TryAcquire(call, o.options(st)...)
			return err
		}
		h, err = o.lock.Acquire(call, o.options(st)...)
		return err
	})
	if err != nil {
		o.refused(st, call, err)
		return
	}
	o.granted(ctx, st)
	o.inside(ctx, st)
	o.giveBack("Release", func() error { return h.Release(ctx) })
	if err := h.Release(ctx); !errors.Is(err, rlock.ErrNotHeld) {
		o.s.bad.add("%s: a second Release: %v", o.name, err)
	}
}

// do is Do. Its give-back starts when the function returns.
func (o *owner) do(call, ctx context.Context, st step) {
	ran := false
	o.done.Add(1)
	from := instant()
	err := o.lock.Do(call, func(context.Context) error {
		o.onTime(doVerb, from)
		ran = true
		o.granted(ctx, st)
		o.inside(ctx, st)
		o.leaving()
		from = instant()
		return nil
	}, o.options(st)...)
	o.onTime(doVerb, from)
	if !ran {
		o.refused(st, call, err)
		return
	}
	o.gaveBack("Do", err)
}

// timed counts an operation and asserts that it comes to an end.
func (o *owner) timed(v verb, op func() error) error {
	o.done.Add(1)
	from := instant()
	err := op()
	o.onTime(v, from)
	return err
}

func (o *owner) onTime(v verb, from time.Duration) {
	if took := instant() - from; took > eachPatience {
		o.s.bad.add("%s: %s took %v", o.name, v, took)
	}
}

// granted notes a level.
func (o *owner) granted(ctx context.Context, st step) *possession {
	o.tell(string(st.verb) + ": granted")
	if o.hold == nil {
		o.hold = o.possess(ctx)
	}
	o.hold.levels++
	return o.hold
}

// refused judges why an acquire came to nothing.
func (o *owner) refused(st step, call context.Context, err error) {
	why := o.reason(err)
	o.tell(string(st.verb) + ": " + why)
	switch {
	case err == nil && st.verb != tryLockVerb:
		o.s.bad.add("%s: %s says nothing", o.name, st.verb)
	case why == "lost":
		o.expectLoss(string(st.verb))
	case why == "not held":
		o.s.bad.add("%s: %s: %v", o.name, st.verb, err)
	case call.Err() != nil && st.cancel == 0 && o.hold == nil:
		o.s.bad.add("%s: starved: %v", o.name, err)
	}
}

// reason sorts errors for the tally.
func (o *owner) reason(err error) string {
	switch {
	case err == nil:
		return "taken"
	case errors.Is(err, rlock.ErrLost):
		return "lost"
	case errors.Is(err, rlock.ErrNotHeld):
		return "not held"
	case errors.Is(err, context.DeadlineExceeded) && errors.Is(err, rlock.ErrNotAcquired):
		return "cancelled"
	case errors.Is(err, rlock.ErrNotAcquired):
		return "taken"
	default:
		return "no answer"
	}
}

// inside is what happens while a level is held.
func (o *owner) inside(ctx context.Context, st step) {
	o.work(st.work)
	for _, in := range st.inner {
		switch in.verb {
		case stateVerb:
			o.state(ctx)
		case strayVerb:
			if o.hold.verbs == 0 {
				o.stray(ctx)
			}
		case extendVerb:
			o.extend(ctx, in.lease)
		case workVerb:
			o.work(in.work)
		default:
			o.enter(ctx, in)
		}
	}
}

// state compares what the owner was told with what the lock says.
func (o *owner) state(ctx context.Context) {
	o.done.Add(1)
	levels, before := 0, o.hold.held()
	if o.hold != nil {
		levels = o.hold.levels
	}
	got, err := o.lock.State(ctx)
	o.tell("State: " + o.reason(err))
	switch {
	case err != nil:
	case o.hold == nil && got.Holds != 0:
		o.s.bad.add("%s holds nothing, and State says %+v", o.name, got)
	case before && o.hold.held() && (got.Holds != levels || !got.Locked):
		o.s.bad.add("%s holds %d levels, and State says %+v", o.name, levels, got)
	}
}

// stray is an Unlock where the owner has nothing that Unlock could give back.
func (o *owner) stray(ctx context.Context) {
	o.done.Add(1)
	if err := o.lock.Unlock(ctx); !errors.Is(err, rlock.ErrNotHeld) {
		o.s.bad.add("%s: Unlock of nothing: %v", o.name, err)
	}
}

// extend asks for more of the newest level.
func (o *owner) extend(ctx context.Context, lease time.Duration) {
	o.done.Add(1)
	shown, ok := o.lock.Held(ctx)
	if !ok {
		o.expectLoss("Held")
		return
	}
	before := shown.ValidUntil()
	err := shown.Extend(ctx, lease)
	if errors.Is(err, rlock.ErrLost) {
		o.expectLoss("Extend")
	}
	if err == nil {
		o.tell("Extend: granted")
		if after := shown.ValidUntil(); after.Before(before.Add(-time.Millisecond)) {
			o.s.bad.add("%s: Extend shortened by %v", o.name, before.Sub(after))
		}
	}
}

// work changes the value behind the lock, unless the hold is lost by then.
func (o *owner) work(d time.Duration) {
	if !o.hold.held() {
		return
	}
	name := o.lock.Name()
	c := change{lock: name, owner: o.name, wrote: fmt.Sprint(o.values.Add(1))}
	var err error
	c.read, err = o.s.values.read(name)
	time.Sleep(d)
	if err == nil && o.hold.held() {
		err = o.s.values.write(name, c.wrote)
		c.sure = o.hold.held()
		o.history.changed(c)
	}
	o.s.bad.unexpected(err, "the value behind the lock")
}

// possession is a hold from the first level to the last.
type possession struct {
	levels int
	verbs  int // levels that are Unlock's to give back
	from   time.Duration
	shown  *rlock.Hold // nil: it was over as soon as it began
	until  time.Duration
}

// possess looks at the hold that the first level has just begun, and watches for its end.
func (o *owner) possess(ctx context.Context) *possession {
	p := &possession{from: instant()}
	if shown, ok := o.lock.Held(ctx); ok {
		p.shown = shown
		told := shown.Context()
		context.AfterFunc(told, func() {
			if cause := context.Cause(told); strings.Contains(cause.Error(), "no longer knows") && p.left() > 0 {
				o.s.bad.add("%s: %s was taken away %v before its end", o.name, o.lock.Name(), p.left())
			}
		})
	}
	return p
}

func (p *possession) held() bool { return p != nil && p.shown != nil && p.shown.Held() }

// left is how much longer the hold said that it is valid; a little less, for the milliseconds of a lease are whole.
func (p *possession) left() time.Duration {
	if p.shown == nil {
		return 0
	}
	return time.Until(p.shown.ValidUntil()) - time.Millisecond
}

// leaving ends the turn when the last level is about to be given back.
func (o *owner) leaving() {
	p := o.hold
	if p.levels > 1 || p.shown == nil {
		return
	}
	left := p.left() // first: it can only shrink
	p.until = instant() + min(left, 0)
	o.history.tookTurn(turn{lock: o.lock.Name(), owner: o.name, from: p.from, to: p.until})
}

func (o *owner) giveBack(what string, op func() error) {
	o.leaving()
	from, held := instant(), o.hold.held()
	err := op()
	o.onTime(verb(what), from)
	if err == nil && !held && o.hold.shown != nil {
		o.s.bad.add("%s: %s of a lost hold is a success", o.name, what)
	}
	o.gaveBack(what, err)
}

// gaveBack judges the answer. A transport error means that the level is given back all the same.
func (o *owner) gaveBack(what string, err error) {
	why := o.reason(err)
	if err == nil {
		why = "done"
	}
	o.tell(what + ": " + why)
	switch why {
	case "lost":
		o.expectLoss(what)
	case "not held": // the goroutine's hold was dropped some time after its fixed lease was over
		if !o.ported || o.hold.left() > 0 {
			o.s.bad.add("%s: %s: %v", o.name, what, err)
		}
	case "taken", "cancelled":
		o.s.bad.add("%s: %s: %v", o.name, what, err)
	}
	if o.hold.levels--; o.hold.levels == 0 {
		o.hold = nil
	}
}

// expectLoss asserts that a loss is no false alarm: nobody but time ends a hold here.
func (o *owner) expectLoss(what string) {
	switch {
	case o.hold == nil:
		o.s.bad.add("%s holds nothing, and %s says that it is lost", o.name, what)
	case o.hold.left() > 0:
		o.s.bad.add("%s: %s says lost, %v before the end", o.name, what, o.hold.left())
	}
}
