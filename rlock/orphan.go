package rlock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

// orphan is a field that this process gave up and that may still stand, or come to stand, in Redis.
type orphan struct {
	lock    *Lock
	field   field
	acquire *wire.Attempt // the acquire whose outcome is in doubt; nil if the field is known to have been granted
	until   time.Duration // when it is gone by itself: a lease after the newest command that could keep it alive was sent
}

// orphans are the fields to count as free, by raw name. In ordinary times there are none.
type orphans struct {
	mu     sync.Mutex // guards byName
	byName map[string][]string
}

// carried is how many orphans an acquire names at most, the newest ones: enough for a process that gives up again and again
// while Redis is slow, and a bound on the size of a command.
const carried = 64

// of lists the orphans of a lock.
func (o *orphans) of(k keys) lua.Orphans {
	o.mu.Lock()
	defer o.mu.Unlock()
	fields := o.byName[k.hash]
	return lua.Orphans{Channel: k.wire.channel, Fields: slices.Clone(fields[max(0, len(fields)-carried):])}
}

func (o *orphans) add(name, field string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byName == nil {
		o.byName = map[string][]string{}
	}
	o.byName[name] = append(o.byName[name], field)
}

func (o *orphans) remove(name, field string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fields := slices.DeleteFunc(o.byName[name], func(f string) bool { return f == field })
	if len(fields) == 0 {
		delete(o.byName, name)
		return
	}
	o.byName[name] = fields
}

func (o *orphans) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.byName)
}

// abandon gives a field up for good: when it returns, a key held under the field counts as free for every acquire of this
// process, so that nobody waits for an orphan of its own. The background gives the field back to all others.
func (c *Client) abandon(ctx context.Context, o *orphan) {
	c.orphans.add(o.lock.keys.hash, o.field.name)
	forget := func() { c.orphans.remove(o.lock.keys.hash, o.field.name) }
	if !c.chores.start(func() { defer forget(); c.settle(ctx, o) }) {
		forget()
	}
}

// settle releases an abandoned field again and again, until it is certain that the field does not stand and will not: the
// acquire in doubt was refused after all; or the field was there and is released; or a lease has passed since anything was
// sent for it. That the field is not there is no end by itself while its acquire is in doubt: the acquire may be overtaken
// by its own release. What turns up still later is unrenewed and lives for one lease at most.
//
// When the Client makes an end, one release more is sent, after the acquire in doubt was decided; if Redis is silent to
// either, nothing more is to be had from waiting.
func (c *Client) settle(ctx context.Context, o *orphan) {
	var pauses wire.Backoff
	began := c.set.now()
	for answered := true; ; { // once a second at first, and ever less often: the lease may be long, and the orphans many
		last := c.isDraining()
		if last && (!answered || !c.isDecided(o)) {
			return
		}
		inDoubt := o.inDoubt()
		release := c.wire.Send(ctx, lua.Release(o.lock.keys.wire.hash, o.lock.keys.wire.channel, o.field.text, 0, 0))
		r := c.awaitAnyway(release)
		if isSettled(r, inDoubt) || last || c.set.now() >= o.until {
			return
		}
		answered = r.Outcome == wire.Done
		c.pauseToSettle(o, release, max(pauses.Next(), min((c.set.now()-began)/4, time.Minute)))
		if o.acquire != nil && refused(o.acquire) {
			return
		}
	}
}

// isDecided waits for the acquire in doubt, and reports whether it was answered.
func (c *Client) isDecided(o *orphan) bool {
	return o.acquire == nil || c.awaitAnyway(o.acquire).Outcome != wire.Unknown
}

// isSettled says whether the answer to a release ends the matter. inDoubt is whether an acquire could still come, as known
// before the release was sent.
func isSettled(r wire.Reply, inDoubt bool) bool {
	outcome, known := releaseOf(r)
	return known && (outcome != lua.NotHeld || !inDoubt)
}

// pauseToSettle waits between two releases, or until the acquire in doubt is decided, or the Client makes an end. As long as
// the first release itself is on its way, waiting for a connection for instance, there is no second: where connections are
// scarce it would be one more that those who want the lock have to wait behind.
func (c *Client) pauseToSettle(o *orphan, release *wire.Attempt, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-o.doubt():
	case <-timer.C:
	case <-c.end.draining:
	}
	timer.Reset(max(pause, 2*c.answer)) // it may hang in a hook, where nothing bounds it
	select {
	case <-release.Done():
	case <-timer.C:
	case <-c.end.draining:
	}
}

// inDoubt: nobody knows whether the acquire has run.
func (o *orphan) inDoubt() bool {
	return o.acquire != nil && (!isClosed(o.acquire.Done()) || o.acquire.Reply().Outcome == wire.Unknown)
}

// doubt is closed when the acquire in doubt is decided; nil if none is in doubt any more.
func (o *orphan) doubt() <-chan struct{} {
	if o.acquire == nil || isClosed(o.acquire.Done()) {
		return nil
	}
	return o.acquire.Done()
}
