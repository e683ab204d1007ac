package model

// abandon gives a field up for good: from here on it counts as free for the process, and the background gives it back.
func (w *world) abandon(next *state, o orphan) {
	o.listed = w.rules.has(AbandonBeforeReturn)
	for i := range next.orphans {
		if next.orphans[i].field == 0 {
			next.orphans[i] = o
			return
		}
	}
	panic("model: more abandoned fields than maxOrphans: a smaller budget, or more room")
}

// carried are the abandoned fields that an acquire of the owner names.
func (w *world) carried(s *state, owner uint8) (all FieldSet) {
	if !w.rules.has(CarryAbandoned) {
		return 0
	}
	for i := range s.orphans {
		o := &s.orphans[i]
		if o.listed && (w.rules.has(CarryForEveryOwner) || ownerOf(o.field) == owner) {
			all |= SetOf(w.slot(o.field))
		}
	}
	return all
}

// orphan finds an abandoned field.
func (s *state) orphan(f Field) *orphan {
	for i := range s.orphans {
		if s.orphans[i].field == f && f != 0 {
			return &s.orphans[i]
		}
	}
	return nil
}

// settlerSteps release each abandoned field, again and again.
func (w *world) settlerSteps(s *state) {
	for i := range s.orphans {
		o := &s.orphans[i]
		if o.field == 0 || o.busy {
			continue
		}
		next := *s
		if !o.listed {
			next.orphans[i].listed = true
			w.step(step{kind: lists, field: o.field}, &next)
			continue
		}
		next.orphans[i].busy = true
		m := message{op: release, field: o.field, who: aSettler}
		if !o.known {
			m.marks = inDoubt
		}
		next.send(m)
		w.step(step{kind: settles, msg: m}, &next)
	}
}

// hearSettler is about the answer to a settler's release.
func (w *world) hearSettler(next *state, m message) result {
	o := next.orphan(m.field)
	doubt := m.marks&inDoubt != 0
	if !w.rules.has(DoubtAsOfSending) {
		doubt = !o.known
	}
	if m.reply == NotHeld && doubt && w.rules.has(BeyondNotHeld) {
		return w.settleOn(next, o)
	}
	next.forget(o)
	return settled
}

// settleOn goes on settling, unless a lease has passed since the last command that could let the field stand was sent. What
// still turns up is renewed by nobody.
func (w *world) settleOn(next *state, o *orphan) result {
	o.busy = false
	if o.until > 0 || o.known {
		return goesOn
	}
	next.stray |= SetOf(w.slot(o.field))
	next.forget(o)
	return givenUp
}

// decide takes the outcome of the command in doubt.
func (w *world) decide(next *state, f Field, r Reply) result {
	o := next.orphan(f)
	if o == nil {
		return ignored
	}
	if r == Granted || r == Handed {
		o.known, o.until = true, 0
		return goesOn
	}
	next.forget(o) // refused: the field will never stand
	return settled
}

// forget ends the settling of a field; nobody waits for its release any more.
func (s *state) forget(o *orphan) {
	for i := range s.net {
		if m := &s.net[i]; m.field == o.field && (m.who == aSettler || m.who == aListener) {
			m.unhear()
		}
	}
	*o = orphan{}
}
