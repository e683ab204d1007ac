package model

// recountSteps set the count in Redis to the levels that the owner was told, after a command in doubt.
func (w *world) recountSteps(s *state, o uint8) {
	at := &s.seats[o]
	if !at.recount || w.turnTaken(s, o) {
		return
	}
	next := *s
	m := message{op: release, field: at.field, count: at.count, lease: w.raiseDue(at), who: recountOf(o)}
	next.send(m)
	w.step(step{kind: recounts, owner: o, msg: m}, &next)
}

// hearRecount is about the answer to a recount, or a late one to the nested acquire that it is about.
func (w *world) hearRecount(next *state, m message) result {
	at := &next.seats[m.who.seat()]
	if at.field != m.field || at.end != alive {
		return ignored
	}
	switch m.reply {
	case NotHeld, Lost:
		w.learnGone(next, at)
		return learnsGone
	case Kept:
		at.recount = at.count != m.count // an Unlock out of turn may have changed it
		w.confirm(next, at, m.lease, m.age)
	default: // granted: the recount follows
	}
	return settled
}
