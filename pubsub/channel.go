package pubsub

import "container/list"

// channel is what a feed knows about one Redis channel. All of it is guarded by
// feed.mu.
//
// What is wanted and what the server was last asked for are kept apart, because
// a waiter may come back while an UNSUBSCRIBE is under way, and leave again
// before it was answered: the session sends whatever makes asked equal to want,
// and only when no answer is outstanding does the last one say how things
// stand.
type channel struct {
	name    string
	waiting list.List      // of *Subscription, the next to be woken in front
	topics  map[string]int // how many of them there are for each topic: one, but for rare names

	want        bool // it has subscriptions, or lingers
	asked       bool // the last request in this session was to subscribe
	outstanding int  // requests whose answers have not come yet
	confirmed   bool // the server says we are subscribed, and was asked for nothing since
	refused     bool // the server's last word was no
	alone       bool // it was in a request that was refused: ask for it by itself

	appointment
}

func (c *channel) addLocked(s *Subscription) {
	s.place = c.waiting.PushBack(s)
	c.topics[s.topic]++
}

// removeLocked takes s away and passes on its token. A lost race against the
// owner of s, who may be reading the token this very moment, is no harm: a
// token is then either read or passed on.
func (c *channel) removeLocked(s *Subscription) {
	c.waiting.Remove(s.place)
	s.place = nil
	if c.topics[s.topic]--; c.topics[s.topic] == 0 {
		delete(c.topics, s.topic)
	}
	select {
	case <-s.wake:
		c.wakeOneLocked(s.topic)
	default:
	}
}

func (c *channel) deliverLocked() {
	for topic := range c.topics {
		c.wakeOneLocked(topic)
	}
}

// wakeOneLocked gives a token to the subscription of a topic that has gone
// longest without one. One that has not read its last token yet is passed over:
// the message would be swallowed there while another sleeps.
func (c *channel) wakeOneLocked(topic string) {
	for e := c.waiting.Front(); e != nil; e = e.Next() {
		s := e.Value.(*Subscription) //nolint:forcetypeassert // addLocked puts in nothing else
		if s.topic == topic && s.pokeLocked() {
			c.waiting.MoveToBack(e)
			return
		}
	}
}

func (c *channel) wakeAllLocked() {
	for e := c.waiting.Front(); e != nil; e = e.Next() {
		e.Value.(*Subscription).pokeLocked() //nolint:forcetypeassert // as above
	}
}

// takenLocked notes that a request about the channel is about to be sent.
func (c *channel) takenLocked() {
	c.asked = c.want
	c.outstanding++
	c.confirmed = false
}

// confirmLocked notes that the server has subscribed us.
func (c *channel) confirmLocked() {
	c.confirmed, c.refused, c.alone = true, false, false
	c.wakeAllLocked()
}

// refuseLocked notes that the server will not subscribe us to this channel.
// Those who wait hear of it once, not at every further attempt.
func (c *channel) refuseLocked() {
	c.alone = true
	if c.refused {
		return
	}
	c.refused = true
	c.wakeAllLocked()
}

// disconnectLocked forgets all that belongs to a session. A refusal outlives
// it: what follows on the next connection is a new attempt, and the waiters
// poll until that has succeeded.
func (c *channel) disconnectLocked() {
	c.asked, c.confirmed, c.outstanding = false, false, 0
}
