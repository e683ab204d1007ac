package pubsub

import "time"

// pulse judges whether the server at the other end of a session still answers.
// A connection can go dead without an error: a firewall forgets it, a machine
// loses its power, and the reader would wait for ever. TCP's keep-alive takes
// minutes.
//
// Every request is answered in the order of sending, so one rule suffices:
// something was asked and nothing was answered for a while. Messages do not
// count as answers. They would hide that requests are being lost, as they are
// when go-redis changes the connection under a PubSub, and an answer cannot be
// held up by messages for longer than it takes to read them.
type pulse struct {
	every    time.Duration // silence after which to ping
	patience time.Duration // how long an answer may take
	heard    time.Time     // when anything came in last
	asked    time.Time     // since when an answer is owed; zero: none is
}

type verdict int

const (
	alive verdict = iota
	silent
	dead
)

func newPulse(cfg Config, now time.Time) pulse {
	return pulse{every: cfg.Ping, patience: cfg.Connect, heard: now}
}

// ask notes that a request is on its way.
func (p *pulse) ask(now time.Time) {
	if p.asked.IsZero() {
		p.asked = now
	}
}

// connected notes that the first request was written, and that from now on only
// the server's own time counts.
func (p *pulse) connected(now time.Time) {
	p.patience = p.every
	p.heard = now
	if !p.asked.IsZero() {
		p.asked = now
	}
}

// answer notes that an answer came and whether more are owed.
func (p *pulse) answer(now time.Time, more bool) {
	p.asked = time.Time{}
	if more {
		p.asked = now
	}
}

// due is when the verdict can change.
func (p *pulse) due() time.Time {
	if p.asked.IsZero() {
		return p.heard.Add(p.every)
	}
	return p.asked.Add(p.patience)
}

func (p *pulse) verdict(now time.Time) verdict {
	switch {
	case now.Before(p.due()):
		return alive
	case p.asked.IsZero():
		return silent
	default:
		return dead
	}
}
