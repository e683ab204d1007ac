package model

// check finds what is broken in a state, or by the step that led there.
func (w *world) check(s *state) Property {
	if s.broken != 0 {
		return s.broken
	}
	for _, test := range [...]struct {
		p      Property
		broken func(*world, *state) bool
	}{
		{OneHolder, (*world).manyHolders},
		{FieldStands, (*world).fieldMissing},
		{LeaseStands, (*world).leaseShort},
		{CountIsTold, (*world).miscounted},
		{NothingForgotten, (*world).forgotten},
		{NoWaitForOwn, (*world).waitsForOwn},
		{NoFalseAlarm, (*world).alarmed},
		{CrashIsShort, (*world).outlives},
		{LeaseIsAskedFor, (*world).unasked},
		{SleeperWakes, (*world).sleepsOn},
	} {
		if w.watches(test.p) && test.broken(w, s) {
			return test.p
		}
	}
	return 0
}

// checkEnd finds what is broken in a state that no step leaves.
func (w *world) checkEnd(s *state) Property {
	left := s.server.TTL > 0 || s.joe.hold > 0 || s.orphans[0].field != 0
	for i := range s.threads {
		left = left || s.threads[i].phase != idle || s.threads[i].levels > 0
	}
	if left && w.watches(AllEnds) {
		return AllEnds
	}
	return 0
}

// certain reports whether the owner believes that he holds, and no operator has interfered.
func (w *world) certain(s *state, at *seat) bool {
	return at.believes() && !s.touched.Has(w.slot(at.field))
}

// joeCertain is certain for the rival.
func joeCertain(s *state) bool { return s.joe.hold > 0 && !s.touched.Has(joes) }

func (w *world) manyHolders(s *state) bool {
	holders := 0
	if joeCertain(s) {
		holders++
	}
	for o := range s.seats {
		if w.certain(s, &s.seats[o]) {
			holders++
		}
	}
	return holders > 1
}

func (w *world) fieldMissing(s *state) bool {
	for o := range s.seats {
		if at := &s.seats[o]; w.certain(s, at) && !s.server.has(w.slot(at.field)) {
			return true
		}
	}
	return joeCertain(s) && !s.server.has(joes)
}

func (w *world) leaseShort(s *state) bool {
	for o := range s.seats {
		if at := &s.seats[o]; w.certain(s, at) && s.server.TTL < at.deadline {
			return true
		}
	}
	return joeCertain(s) && s.server.TTL < s.joe.hold
}

// miscounted leaves out what a late command may have changed: the next command of the owner names the right count.
func (w *world) miscounted(s *state) bool {
	for o := range s.seats {
		at := &s.seats[o]
		if w.certain(s, at) && !at.recount && !at.smudged && !w.busy(s, uint8(o)) &&
			s.server.Levels[w.slot(at.field)] != at.count {
			return true
		}
	}
	return false
}

// busy reports whether a command that counts is under way for the owner, be it awaited or not.
func (w *world) busy(s *state, o uint8) bool {
	for i := range s.net {
		m := &s.net[i]
		if (m.op == acquire || m.op == release) && m.field == s.seats[o].field {
			return true
		}
	}
	return false
}

// ownerless are the fields of the process in Redis that no caller and no tenure has to do with.
func (w *world) ownerless(s *state) FieldSet {
	return s.server.Fields() &^ (w.cared(s) | s.stray | SetOf(joes))
}

func (w *world) forgotten(s *state) bool {
	left := w.ownerless(s)
	for i := range s.orphans {
		left &^= SetOf(w.slot(s.orphans[i].field))
	}
	return left != 0
}

func (w *world) waitsForOwn(s *state) bool {
	there := s.server.Fields()
	if there == 0 || there != w.ownerless(s) {
		return false
	}
	for o := range uint8(owners) {
		if there&^w.carried(s, o) != 0 {
			return true
		}
	}
	return false
}

func (w *world) alarmed(s *state) bool {
	for o := range s.seats {
		if at := &s.seats[o]; at.field != 0 && at.end == alive && at.deadline == 0 && at.proof > 0 {
			return true
		}
	}
	return false
}

func (w *world) outlives(s *state) bool {
	for o := range s.seats {
		if at := &s.seats[o]; w.certain(s, at) && !at.loose && s.server.TTL > w.Lease {
			return true
		}
	}
	return false
}

// unasked looks at holds that no watched level keeps alive.
func (w *world) unasked(s *state) bool {
	for o := range s.seats {
		at := &s.seats[o]
		due := !at.isWatched() && at.fixed() > at.deadline+w.Margin
		if w.certain(s, at) && due && !w.renewsRaise() && !w.raiseUnderWay(s, at) {
			return true
		}
	}
	return false
}

func (w *world) raiseUnderWay(s *state, at *seat) bool {
	for i := range s.net {
		m := &s.net[i]
		if m.op == release && m.field == at.field && m.lease > 0 && m.who != nobody {
			return true
		}
	}
	return false
}

func (w *world) sleepsOn(s *state) bool { return s.joe.sleep > 0 && s.joe.sleep > s.server.TTL }
