package rlock

import (
	"time"

	"github.com/rlock-go/rlock/pubsub"
)

// WithClock replaces the clock, for tests in virtual time.
func WithClock(now func() time.Duration) Option {
	return option(func(s *settings) error {
		s.now = now
		return nil
	})
}

// WithFallbackLook sets how often a waiter looks without having been told.
func WithFallbackLook(d time.Duration) Option {
	return option(func(s *settings) error {
		s.look = d
		return nil
	})
}

// WithHub sets the hub's times.
func WithHub(cfg pubsub.Config) Option {
	return option(func(s *settings) error {
		s.hub = cfg
		return nil
	})
}

// Leftovers counts what the Client still knows: all zero when nobody holds or waits.
func (c *Client) Leftovers() Leftovers {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	return Leftovers{
		Seats: len(c.table.seats), Holders: len(c.table.holders), Tenures: c.table.tenures, Orphans: c.orphans.count(),
		Queues: c.gate.Len(), Watched: c.dog.Len(), Channels: c.hub.Channels(),
	}
}

// Leftovers is what Client.Leftovers counts.
type Leftovers struct{ Seats, Holders, Tenures, Orphans, Queues, Watched, Channels int }

// Margin is how much earlier than its lease a hold is over.
func Margin(lease time.Duration) time.Duration { return margin(lease) }

// ChannelOf is the channel of a raw name.
func ChannelOf(raw string) string { return keysOf(raw).channel }

// HasParked: somebody sleeps at the head of the line of a raw name, where the lock can be handed over.
func (c *Client) HasParked(raw string) bool {
	found := false
	c.gate.Pick(raw, func(any) bool { found = true; return false })
	return found
}
