package pubsub

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// read is the reader's goroutine. It calls Receive without a time-out: one that
// strikes in the middle of a reply leaves the stream at an unknown place. That
// the server has gone quiet is for the pulse to find out.
func (s *session) read(ps *redis.PubSub) {
	for {
		reply, err := ps.Receive(s.ctx)
		if err != nil && !refusal(err) {
			s.end(err)
			return
		}
		if !s.heed(reply, err) {
			return
		}
	}
}

// heed books what came in and reports whether the session goes on.
func (s *session) heed(reply any, refused error) bool {
	f := s.feed
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.over {
		return false
	}
	s.pulse.heard = now
	if message, ok := reply.(*redis.Message); ok {
		f.deliverLocked(message.Channel)
		return true
	}
	if err := s.bookLocked(reply, refused, now); err != nil {
		s.endLocked(err, now)
		return false
	}
	s.answered, f.failing = true, false
	s.pulse.answer(now, !s.ledger.empty() || s.pinging)
	return true
}

// bookLocked books the answer to a request.
func (s *session) bookLocked(reply any, refused error, now time.Time) error {
	switch reply := reply.(type) {
	case *redis.Subscription:
		c, err := s.ledger.confirm(reply.Kind, reply.Channel)
		if err != nil {
			return err
		}
		c.outstanding--
		s.confirmedLocked(c)
		return nil
	case *redis.Pong:
		return s.ledger.pong()
	default:
		r, err := s.ledger.refuse(refused)
		if err != nil {
			return err
		}
		if r.verb != ping && passes(refused) {
			return refused
		}
		s.refusedLocked(r, refused, now)
		return nil
	}
}

// confirmedLocked draws the conclusion of a confirmation for c, whichever it
// was: only the last of those outstanding says how things stand.
func (s *session) confirmedLocked(c *channel) {
	switch {
	case c.outstanding > 0:
	case c.asked:
		c.confirmLocked()
	case !c.want:
		s.feed.dropLocked(c)
	}
}

// refusedLocked charges an error reply to the channels of its request. The
// server refuses a command as a whole, though perhaps only one of its channels
// is forbidden, so those of a larger one are asked for again one by one. An
// error in reply to a ping is as good a sign of life as any.
func (s *session) refusedLocked(r *request, refused error, now time.Time) {
	for _, c := range r.channels {
		c.outstanding--
		if c.outstanding > 0 {
			continue
		}
		c.asked = false
		switch {
		case c.waiting.Len() == 0:
			s.feed.dropLocked(c)
		case len(r.names) > 1:
			c.alone = true
			s.joinLocked(c)
		default:
			s.feed.refusedLocked(c, refused, now)
		}
	}
}

// passing lists the error replies of a server that serves nobody just now. They
// say nothing about a channel, so they are taken for what they are, an outage,
// and end the session: the next one asks again within a second, and not only
// when a right could have been granted.
var passing = []string{"BUSY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"}

func passes(refused error) bool {
	return slices.ContainsFunc(passing, func(word string) bool { return strings.HasPrefix(refused.Error(), word) })
}

// refusal tells an error reply of the server from a broken connection.
func refusal(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
