package pubsub

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// feed is one subscriber connection, renewed as often as need be, and the
// channels that are heard over it.
type feed struct {
	open func(ctx context.Context) *redis.PubSub
	cfg  Config
	kick chan struct{} // size 1: the keeper has to look before its time
	done chan struct{} // closed when the feed is closed and its last goroutine is gone

	// mu guards everything below, the channels with their subscriptions, and
	// the books of the session. It is held for moments only: no I/O, no
	// logging, nothing that blocks may happen under it, as waiters and the
	// reader take it too.
	mu         sync.Mutex
	channels   map[string]*channel
	lingering  agenda    // without subscriptions, to be unsubscribed
	refused    agenda    // to be asked for again
	session    *session  // nil while there is no connection
	keeping    bool      // the keeper's goroutine runs
	armed      time.Time // when the keeper wakes by itself
	idle       time.Time // since when there are no channels
	reopen     time.Time // not before then is another connection opened
	failures   int       // connections in a row that did not last
	failing    bool      // so many that the waiters had better poll
	warned     bool      // of a refusal
	reports    []report
	goroutines int
	closed     bool
}

func newFeed(open func(ctx context.Context) *redis.PubSub, cfg Config) *feed {
	return &feed{
		open: open, cfg: cfg,
		kick: make(chan struct{}, 1), done: make(chan struct{}),
		channels:  make(map[string]*channel),
		lingering: agenda{delay: cfg.Linger},
		refused:   agenda{delay: cfg.Retry},
	}
}

func (f *feed) subscribe(name, topic string) *Subscription {
	s := &Subscription{feed: f, topic: topic, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		s.channel = f.channelLocked(name)
		s.channel.addLocked(s)
	}
	if f.deafLocked(s.channel) {
		s.pokeLocked()
	}
	return s
}

// channelLocked finds or makes the channel, and has it subscribed unless it is.
func (f *feed) channelLocked(name string) *channel {
	c := f.channels[name]
	if c == nil {
		c = &channel{name: name, topics: make(map[string]int)}
		f.channels[name] = c
	}
	if c.waiting.Len() == 0 {
		c.cancel() // it may have been lingering
	}
	if !c.want {
		c.want = true
		f.wantedLocked(c)
	}
	return c
}

func (f *feed) wantedLocked(c *channel) {
	if f.session != nil {
		f.session.joinLocked(c)
	}
	if !f.keeping {
		f.keeping = true
		f.spawnLocked(f.keep)
	}
}

// leftLocked is called when a subscription of c was closed. A channel that the
// server knows lingers; any other can go at once.
func (f *feed) leftLocked(c *channel) {
	switch {
	case f.closed || c.waiting.Len() > 0:
	case c.asked || c.outstanding > 0:
		f.appointLocked(&f.lingering, c, time.Now())
	default:
		f.dropLocked(c)
	}
}

// appointLocked enters c in an agenda. The keeper is roused only if it means to
// sleep for longer, which spares a lock that is fought for all the time a
// switch of goroutines per turn.
func (f *feed) appointLocked(a *agenda, c *channel, now time.Time) {
	a.add(c, now)
	if c.at.Before(f.armed) {
		signal(f.kick)
	}
}

// dropLocked forgets a channel for good.
func (f *feed) dropLocked(c *channel) {
	c.want = false
	c.cancel()
	delete(f.channels, c.name)
	if len(f.channels) == 0 {
		f.idle = time.Now()
		signal(f.kick)
	}
}

func (f *feed) poke(name, topic string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.channels[name]; c != nil {
		c.wakeOneLocked(topic)
	}
}

func (f *feed) deliverLocked(name string) {
	if c := f.channels[name]; c != nil {
		c.deliverLocked()
	}
}

// deafLocked reports whether those who wait for c must look by themselves.
func (f *feed) deafLocked(c *channel) bool {
	return f.closed || !c.confirmed && (c.refused || f.failing)
}

func (f *feed) size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.channels)
}

// spawnLocked starts a goroutine that close waits for.
func (f *feed) spawnLocked(run func()) {
	f.goroutines++
	go func() {
		run()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.goroutines--
		f.doneLocked()
	}()
}

func (f *feed) doneLocked() {
	if f.closed && f.goroutines == 0 {
		close(f.done)
	}
}

func (f *feed) close(ctx context.Context) error {
	f.shut()
	select {
	case <-f.done:
		return nil
	default: // a context that is over already does not make a finished closing fail
	}
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("pubsub: closing: %w", context.Cause(ctx))
	}
}

// shut turns everything off before anything is waited for.
func (f *feed) shut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	f.hangUpLocked(time.Now())
	for _, c := range f.channels {
		c.wakeAllLocked()
	}
	clear(f.channels)
	signal(f.kick)
	f.doneLocked()
}
