package model

// clockSteps let time go by.
func (w *world) clockSteps(s *state) {
	next := *s
	if w.tick(&next) {
		w.tidy(&next)
		if next != *s {
			w.step(step{kind: ticks}, &next)
		}
	}
	if s.left.drift > 0 && s.server.TTL > 0 {
		next := *s
		next.left.drift--
		next.server.tick()
		w.step(step{kind: drifts}, &next)
	}
}

// tick makes everything that is left of some time one less, and reports whether it could: that an answer comes too late to
// be a grant is trouble like no answer at all, and may happen as often.
func (w *world) tick(next *state) bool {
	next.server.tick()
	for i := range next.net {
		m := &next.net[i]
		if w.age(m); m.isLate(w.Margin) {
			if next.left.timeouts == 0 {
				return false
			}
			next.left.timeouts--
		}
	}
	for o := range next.seats {
		next.seats[o].tick()
	}
	for i := range next.orphans {
		if o := &next.orphans[i]; !o.known {
			o.until = minus(o.until, 1)
		}
	}
	next.joe.hold, next.joe.sleep = minus(next.joe.hold, 1), minus(next.joe.sleep, 1)
	next.force.window = minus(next.force.window, 1)
	return true
}

// age is kept while somebody may take the command for proof, and for a command that looks at the time itself.
func (w *world) age(m *message) {
	if m.op == force || m.lease > 0 && (m.who.isThread() || m.who.isWatchdog() || m.who.isRecount()) {
		m.age = min(m.age+1, w.most)
	}
}

// isLate: with this tick the answer to somebody's acquire has become worthless.
func (m *message) isLate(margin uint8) bool {
	return m.who.isThread() && (m.isFresh() || m.op == handOver) && m.age+margin == m.lease
}

// tick lets the time of a tenure go by.
func (s *seat) tick() {
	s.deadline, s.proof = minus(s.deadline, 1), minus(s.proof, 1)
	for i, level := range s.levels {
		if level != watched && level > 1 {
			s.levels[i]--
		}
	}
}
