package pubsub

import (
	"container/list"
	"time"
)

// agenda holds channels for which something is to be done a fixed delay after
// they were added. As the delay is the same for all, the order of arrival is
// the order of the due times, and no heap is needed.
type agenda struct {
	delay time.Duration
	due   list.List // of *channel
}

// appointment is a channel's place in an agenda, of which it is in one at most.
type appointment struct {
	agenda *agenda
	entry  *list.Element
	at     time.Time
}

func (a *agenda) add(c *channel, now time.Time) {
	c.cancel()
	c.appointment = appointment{agenda: a, entry: a.due.PushBack(c), at: now.Add(a.delay)}
}

// cancel strikes the appointment off its agenda, if there is one.
func (p *appointment) cancel() {
	if p.agenda != nil {
		p.agenda.due.Remove(p.entry)
	}
	*p = appointment{}
}

// first is when the next one is due.
func (a *agenda) first() (time.Time, bool) {
	c := a.front()
	if c == nil {
		return time.Time{}, false
	}
	return c.at, true
}

// next takes off the first channel if it is due, else returns nil.
func (a *agenda) next(now time.Time) *channel {
	c := a.front()
	if c == nil || now.Before(c.at) {
		return nil
	}
	c.cancel()
	return c
}

func (a *agenda) front() *channel {
	e := a.due.Front()
	if e == nil {
		return nil
	}
	return e.Value.(*channel) //nolint:forcetypeassert // add puts in channels alone
}
