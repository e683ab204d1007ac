package pubsub

import "container/list"

// Subscription is one waiter's interest in one channel. Its methods never
// block, and are safe from any goroutine.
type Subscription struct {
	feed    *feed
	channel *channel
	topic   string
	wake    chan struct{}
	place   *list.Element // in channel.waiting; nil once closed. Guarded by feed.mu
}

// Wake yields a token, at most one at a time, when it is time to look again:
// after a message, after every confirmation by the server, when the
// subscription becomes Polling, and when a connection is lost and so many were
// before it that the next is far off. A token can be spurious. Once the
// subscription is closed no more come, and the channel is never closed.
func (s *Subscription) Wake() <-chan struct{} {
	return s.wake
}

// Confirmed reports whether the server has confirmed the channel on a
// connection that is, for all the hub knows, still good. While it holds,
// messages are heard.
func (s *Subscription) Confirmed() bool {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.place != nil && s.channel.confirmed
}

// Polling reports whether the channel cannot be heard and will not be for some
// time: the server refuses it, several connections in a row came to nothing, or
// the hub was closed. Neither Confirmed nor Polling means that the hub is
// working on it.
func (s *Subscription) Polling() bool {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.deafLocked(s.channel)
}

// Close gives the subscription back. If it has an unread token, another
// subscription of the channel gets one in its place. Closing once more does
// nothing.
func (s *Subscription) Close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	if s.place == nil {
		return
	}
	s.channel.removeLocked(s)
	s.feed.leftLocked(s.channel)
}

// pokeLocked leaves a token and reports whether there was room for it.
func (s *Subscription) pokeLocked() bool {
	select {
	case s.wake <- struct{}{}:
		return true
	default:
		return false
	}
}
