package pubsub

import (
	"context"
	"errors"
	"time"
)

var errUnreachable = errors.New("no connection to be had")

// session is the life of one connection: a PubSub that is never used again
// after its first error. By the time Receive tells of an error, go-redis has
// reconnected and resubscribed of its own accord, or spent seconds failing to,
// with every other method of the PubSub blocked. There is no way to keep it
// from that, so a broken connection costs the server one more for a moment; but
// what it did unseen is nothing to build on: which requests got through, and
// whether it will come to anything, nobody knows. A new session leaves all that
// behind.
//
// Two goroutines do its I/O. The writer opens the PubSub, sends, and closes it;
// the reader, started once there is a connection to read, books what comes in.
// Neither is waited for when the session ends: it is over at once for the feed,
// whatever they are stuck in, and the cancelled context, the closed socket and
// the time-outs of go-redis see to the rest.
type session struct {
	feed   *feed
	ctx    context.Context //nolint:containedctx // ends with the session
	cancel context.CancelFunc
	kick   chan struct{} // size 1: the writer has something to do

	// Guarded by feed.mu.
	joining  []*channel // perhaps to be subscribed: the writer checks
	singly   []*channel // the same, each in a command of its own
	leaving  []*channel // perhaps to be unsubscribed
	pinging  bool       // a ping is to be sent
	ledger   ledger
	pulse    pulse
	started  time.Time
	answered bool // the server has answered a request
	over     bool
}

func newSession(f *feed, now time.Time) *session {
	ctx, cancel := context.WithCancel(context.Background())
	return &session{
		feed: f, ctx: ctx, cancel: cancel, kick: make(chan struct{}, 1),
		pulse: newPulse(f.cfg, now), started: now,
	}
}

func (s *session) joinLocked(c *channel) {
	if c.alone {
		s.singly = append(s.singly, c)
	} else {
		s.joining = append(s.joining, c)
	}
	signal(s.kick)
}

func (s *session) leaveLocked(c *channel) {
	s.leaving = append(s.leaving, c)
	signal(s.kick)
}

// pingLocked has a ping sent. The answer counts as owed from now on, not from
// when the writer gets round to it, for it may be the writer that is stuck.
func (s *session) pingLocked(now time.Time) {
	s.pinging = true
	s.pulse.ask(now)
	signal(s.kick)
}

// end gives the session up because of err. What comes after the first time is
// ignored.
func (s *session) end(err error) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.endLocked(err, time.Now())
}

func (s *session) endLocked(err error, now time.Time) {
	if s.over {
		return
	}
	s.over = true
	s.cancel()
	s.feed.lostLocked(s, err, now)
}

// signal leaves a token in a channel of size one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
