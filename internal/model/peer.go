package model

// joeSteps are those of the rival, whose commands take no time.
func (w *world) joeSteps(s *state) {
	switch {
	case s.joe.hold > 0:
		next := *s
		next.joe.hold = 0
		_, published := next.server.Release(joes, 0, 0, w.rules)
		next.publish(published)
		w.step(step{kind: joeLeaves}, &next)
	case s.joe.calls == 0 || s.joe.sleep > 0:
	case s.server.TTL == 0:
		next := *s
		next.joe.calls--
		next.joe.hold = w.Joe.Lease
		next.touched &^= SetOf(joes)
		next.server.Acquire(joes, 1, w.Joe.Lease, 0, w.rules)
		w.step(step{kind: joeTakes}, &next)
	case w.Joe.Sleeps && !s.server.has(joes):
		next := *s
		next.joe.sleep = s.server.TTL
		w.step(step{kind: joeSleeps}, &next)
	}
}

// publish wakes who sleeps.
func (s *state) publish(published bool) {
	if published {
		s.joe.sleep = 0
	}
}
