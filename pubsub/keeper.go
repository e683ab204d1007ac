package pubsub

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// hopeless is how many connections in a row must have failed before the waiters
// are woken to look by themselves until the next confirmation. A restart of the
// server that takes no longer than the first few pauses is not worth their
// while.
const hopeless = 3

var errSilent = errors.New("the server does not answer")

// report is something to be logged, by the keeper, since the logger may block.
type report struct {
	level slog.Level
	text  string
	args  []any
}

// keep is the keeper's goroutine: all that happens by the clock. It runs while
// there are channels or a connection, does no I/O, and has one timer.
func (f *feed) keep() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		due, reports, on := f.step(time.Now())
		for _, r := range reports {
			f.cfg.Logger.Log(context.Background(), r.level, r.text, r.args...)
		}
		if !on {
			return
		}
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-f.kick:
		}
	}
}

// step does what is due and says when to come back, if at all.
func (f *feed) step(now time.Time) (due time.Time, reports []report, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsubscribeLocked(now)
	f.askAgainLocked(now)
	f.listenLocked(now)
	f.connectLocked(now)
	if f.unusedLocked(now) {
		f.hangUpLocked(now)
		f.keeping = false
		f.channels = make(map[string]*channel) // a map keeps room for the most that it ever held
	}
	f.armed = f.dueLocked()
	reports, f.reports = f.reports, nil
	return f.armed, reports, f.keeping
}

// unsubscribeLocked gives up the channels that have lingered long enough.
func (f *feed) unsubscribeLocked(now time.Time) {
	for c := f.lingering.next(now); c != nil; c = f.lingering.next(now) {
		c.want = false
		if c.asked {
			f.session.leaveLocked(c)
		} else if c.outstanding == 0 {
			f.dropLocked(c)
		}
	}
}

// askAgainLocked has another try at channels that were refused some time ago.
func (f *feed) askAgainLocked(now time.Time) {
	for c := f.refused.next(now); c != nil; c = f.refused.next(now) {
		f.session.joinLocked(c)
	}
}

// listenLocked pings a server that has been silent, and gives up one that does
// not answer.
func (f *feed) listenLocked(now time.Time) {
	if f.session == nil {
		return
	}
	switch f.session.pulse.verdict(now) {
	case silent:
		f.session.pingLocked(now)
	case dead:
		f.session.endLocked(errSilent, now)
	case alive:
	}
}

// connectLocked opens a connection when one is wanted and may be opened.
func (f *feed) connectLocked(now time.Time) {
	if f.session != nil || len(f.channels) == 0 || now.Before(f.reopen) {
		return
	}
	f.session = newSession(f, now)
	for _, c := range f.channels {
		f.session.joinLocked(c)
	}
	f.spawnLocked(f.session.write)
}

func (f *feed) unusedLocked(now time.Time) bool {
	if f.closed {
		return true
	}
	return len(f.channels) == 0 && (f.session == nil || !now.Before(f.idle.Add(f.cfg.Linger)))
}

// dueLocked is when the next step is due.
func (f *feed) dueLocked() time.Time {
	if f.session == nil {
		return f.reopen
	}
	due := f.session.pulse.due()
	for _, a := range []*agenda{&f.lingering, &f.refused} {
		if at, ok := a.first(); ok && at.Before(due) {
			due = at
		}
	}
	if len(f.channels) == 0 && f.idle.Add(f.cfg.Linger).Before(due) {
		due = f.idle.Add(f.cfg.Linger)
	}
	return due
}

// hangUpLocked ends the session because it is no longer needed.
func (f *feed) hangUpLocked(now time.Time) {
	if f.session != nil {
		f.session.endLocked(nil, now)
	}
}

// lostLocked is called when a session has ended, without an error if that was
// the feed's own wish. A first failure wakes nobody: there is nothing to be seen
// yet, and the next confirmation wakes all.
func (f *feed) lostLocked(s *session, err error, now time.Time) {
	f.session = nil
	for _, c := range f.channels {
		c.cancel()
		c.disconnectLocked()
		if c.waiting.Len() == 0 {
			f.dropLocked(c)
		}
	}
	f.reopen = now
	if s.answered && now.Sub(s.started) >= f.cfg.Backoff.Max {
		f.failures = 0
	}
	if err != nil {
		f.failedLocked(s, err, now)
	}
	signal(f.kick)
}

// failedLocked counts a session that broke and says when the next may begin.
// Only one that has lasted has cleared the count, or a server that accepts,
// confirms and hangs up would be called on without a pause.
func (f *feed) failedLocked(s *session, err error, now time.Time) {
	f.failures++
	f.reopen = now.Add(f.cfg.Backoff.pause(f.failures))
	f.reportLocked(slog.LevelDebug, "pubsub: connection lost", "error", err)
	if f.failing || f.failures < hopeless {
		return
	}
	for _, c := range f.channels {
		c.wakeAllLocked() // the pause is too long to be slept through deaf
	}
	if !s.answered {
		f.failing = true
		f.reportLocked(slog.LevelWarn, "pubsub: no connection to subscribe over, waiters poll meanwhile", "error", err)
	}
}

// refusedLocked is called when the server has said no to c in so many words.
func (f *feed) refusedLocked(c *channel, err error, now time.Time) {
	c.refuseLocked()
	f.appointLocked(&f.refused, c, now)
	if f.warned {
		return
	}
	f.warned = true
	f.reportLocked(slog.LevelWarn, "pubsub: the server refuses a channel, waiters poll until it is permitted",
		"channel", c.name, "error", err)
}

func (f *feed) reportLocked(level slog.Level, text string, args ...any) {
	f.reports = append(f.reports, report{level: level, text: text, args: args})
	signal(f.kick)
}
