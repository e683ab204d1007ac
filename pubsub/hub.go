package pubsub

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Hub hears the channels of one Redis and wakes whoever subscribed to them in
// this process. It is safe for use by any number of goroutines.
type Hub struct {
	feed *feed
}

// NewHub makes a hub that gets its connections from open, which must return a
// PubSub of its own each time, without channels, closed by the hub; nil when
// there is none to be had at the moment. The context given to open ends with
// the connection. NewHub does no I/O and starts no goroutine: the first
// Subscribe does.
func NewHub(open func(ctx context.Context) *redis.PubSub, cfg Config) *Hub {
	return &Hub{feed: newFeed(open, cfg.withDefaults())}
}

// Subscribe asks for the messages of a channel. It returns at once, usually
// before the server was even asked: the subscription tells when it is
// confirmed. On a channel that others have brought up already it starts out
// confirmed, and then without a token; one that starts out polling has its
// token from the start. After Close it is dead: it polls for ever.
//
// The caller has to close it.
func (h *Hub) Subscribe(channel string) *Subscription {
	return h.SubscribeTo(channel, "")
}

// SubscribeTo is Subscribe for one of several topics that share a channel, as
// the locks "x" and "{x}" do in Redisson: each message leaves a token with one
// subscription of every topic, for it may be about any of them.
func (h *Hub) SubscribeTo(channel, topic string) *Subscription {
	return h.feed.subscribe(channel, topic)
}

// Poke leaves a token with one subscription of the topic, as a message on the
// channel would, for who knows from elsewhere that there is something to see.
func (h *Hub) Poke(channel, topic string) {
	h.feed.poke(channel, topic)
}

// Channels is the number of channels that the hub knows, lingering ones
// included; 0 when all is idle.
func (h *Hub) Channels() int {
	return h.feed.size()
}

// Close ends every subscription, which from then on are polling, and the
// connection, and waits until the goroutines of the hub are gone. That takes no
// time worth naming unless a connection hangs in the middle of a command; when
// ctx ends first, its cause is returned, and the goroutines end by themselves
// when the time-outs of go-redis have passed. Closing once more waits once
// more.
func (h *Hub) Close(ctx context.Context) error {
	return h.feed.close(ctx)
}
