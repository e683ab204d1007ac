package pubsub

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// write is the writer's goroutine.
func (s *session) write() {
	ps := s.feed.open(s.ctx)
	if ps == nil {
		s.end(errUnreachable)
		return
	}
	defer func() { _ = ps.Close() }() // sets the reader free; there is nothing to be done about an error
	for reading := false; s.await(); {
		for r := s.next(); r != nil; r = s.next() {
			if err := r.send(s.ctx, ps); err != nil {
				s.end(err)
				return
			}
			if !reading {
				reading = s.connected(ps)
			}
		}
	}
}

// await blocks until there may be something to send, and reports whether the
// session goes on.
func (s *session) await() bool {
	select {
	case <-s.kick:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// connected starts the reader, now that the first request has brought the
// connection up: a reader without one would have go-redis make a connection of
// its own choice.
func (s *session) connected(ps *redis.PubSub) bool {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if !s.over {
		s.pulse.connected(time.Now())
		signal(f.kick) // the keeper granted the time to connect, which is longer
		f.spawnLocked(func() { s.read(ps) })
	}
	return true
}

// next drafts what to send now and enters it in the ledger, before it is sent,
// since the answer may come before the writer learns that it was.
func (s *session) next() *request {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.over {
		return nil
	}
	r := s.draftLocked()
	if r != nil {
		s.ledger.add(r)
		s.pulse.ask(time.Now())
	}
	return r
}

func (s *session) draftLocked() *request {
	if cs := takeLocked(&s.joining, true, batch); len(cs) > 0 {
		return newRequest(subscribe, cs)
	}
	if cs := takeLocked(&s.singly, true, 1); len(cs) > 0 {
		return newRequest(subscribe, cs)
	}
	if cs := takeLocked(&s.leaving, false, batch); len(cs) > 0 {
		return newRequest(unsubscribe, cs)
	}
	if s.pinging {
		s.pinging = false
		return &request{verb: ping}
	}
	return nil
}

// takeLocked takes up to most channels off a queue, leaving out those that no
// longer need what they were queued for.
func takeLocked(queue *[]*channel, want bool, most int) []*channel {
	var taken []*channel
	for len(*queue) > 0 && len(taken) < most {
		c := (*queue)[0]
		*queue = (*queue)[1:]
		if c.want == want && c.asked != want {
			c.takenLocked()
			taken = append(taken, c)
		}
	}
	return taken
}

func newRequest(v verb, cs []*channel) *request {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = c.name
	}
	return &request{verb: v, names: names, channels: cs}
}
