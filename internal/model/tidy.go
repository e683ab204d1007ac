package model

// tidy brings a state into the one form that all states with the same future have: it drops what can have no effect any
// more, puts what has no order into one, and numbers the attempts anew.
func (w *world) tidy(s *state) {
	for o := range uint8(owners) {
		w.tidySeat(s, o)
	}
	if !w.raw && w.rules.has(FieldPerAttempt) && w.rules.has(NestedNeverTakesAnew) && w.rules.has(RenewOnlyItsField) {
		w.dropIdle(s)
	}
	all := s.alive()
	if !w.rules.has(FieldPerAttempt) {
		all |= SetOf(w.slot(1), w.slot(perOwner+1))
	} else if !w.names && !w.raw {
		all = s.renumber(all)
	}
	s.touched &= all
	s.stray &= all
	s.revoked &= all
	s.sort()
}

// tidySeat forgets what mattered to a tenure that is over, and what is on its way about it.
func (w *world) tidySeat(s *state, o uint8) {
	at := &s.seats[o]
	switch {
	case at.field == 0:
		at.recount, at.smudged = false, false
		if at.deadline > 0 && !w.turnTaken(s, o) { // no Unlock goes by it any more
			at.deadline, at.proof = 0, 0
		}
	case at.end != alive || w.isOver(at):
		at.close()
	}
	for i := range s.net {
		if m := &s.net[i]; (at.field != m.field || at.end != alive) && w.isAbout(m, o) {
			m.unhear()
		}
	}
}

// isOver reports whether the clock has ended the tenure for good.
func (w *world) isOver(at *seat) bool {
	return at.deadline == 0 && at.proof == 0 && w.rules.has(OverStaysOver) && w.rules.has(LossIsTold)
}

// close leaves of a tenure only why it ended and how many levels are to be given back.
func (s *seat) close() {
	s.finish(lost)
	s.deadline, s.proof, s.recount, s.smudged = 0, 0, false, false
	for i := range s.count {
		s.levels[i] = watched
	}
}

// isAbout: the message is a renewal or a recount for the owner's tenure.
func (w *world) isAbout(m *message, o uint8) bool {
	return m.who == recountOf(o) || m.who == watchdogOf(o) && w.rules.has(IgnoreAnswersAfterEnd)
}

// dropIdle drops what is about fields that do not stand and can never stand again: their settling, their mention in an
// acquire, and the requests that nobody waits for.
func (w *world) dropIdle(s *state) {
	may := s.mayStand()
	for i := range s.orphans {
		if o := &s.orphans[i]; o.field != 0 && !may.Has(o.field) {
			s.forget(o)
		}
	}
	for i := range s.net {
		m := &s.net[i]
		if m.op == acquire {
			m.fields &= may
		}
		if m.who == nobody && m.op != nothing && w.isIdle(m, may) {
			*m = message{}
		}
	}
}

// mayStand are the fields that stand, or that a command which is under way or will be sent can let stand.
func (s *state) mayStand() FieldSet {
	may := s.server.Fields() | SetOf(joes)
	for i := range s.threads {
		th := &s.threads[i]
		if th.phase != giving && th.phase != regiving {
			may |= SetOf(th.field)
		}
		may |= SetOf(th.to)
	}
	for i := range s.net {
		if m := &s.net[i]; m.isFresh() && m.reply == none {
			may |= SetOf(m.field)
		}
	}
	for i := range s.net {
		if m := &s.net[i]; m.op == handOver && m.reply == none && may.Has(m.field) {
			may |= SetOf(m.to)
		}
	}
	return may &^ 1
}

// isIdle reports whether the request can change nothing, if no other fields than these may stand.
func (w *world) isIdle(m *message, may FieldSet) bool {
	switch {
	case m.op == force:
		return m.fields&may == 0 || m.age >= m.lease && w.rules.has(ForceInTime)
	case m.isFresh():
		return false
	default:
		return !may.Has(m.field) && (m.op != handOver || !may.Has(m.to))
	}
}

// alive are the attempts that anything refers to.
func (s *state) alive() (all FieldSet) {
	all = s.server.Fields() | SetOf(joes) | s.force.seen
	for i := range s.net {
		if m := &s.net[i]; m.op != nothing {
			all |= SetOf(m.field, m.to) | m.fields
		}
	}
	for i := range s.seats {
		all |= SetOf(s.seats[i].field)
	}
	for i := range s.threads {
		all |= SetOf(s.threads[i].field, s.threads[i].to)
	}
	for i := range s.orphans {
		all |= SetOf(s.orphans[i].field)
	}
	return all &^ 1
}
