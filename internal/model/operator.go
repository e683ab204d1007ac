package model

// operatorSteps are those of who deletes the key, and of who unlocks by force.
func (w *world) operatorSteps(s *state) {
	if s.left.deletes > 0 && s.server.TTL > 0 {
		next := *s
		next.left.deletes--
		next.touched |= s.server.Fields()
		next.server = Server{}
		next.joe.sleep = 0 // nobody tells him, but that is the operator's doing
		w.step(step{kind: deletes}, &next)
	}
	if s.force.phase == forceIdle && s.left.forces > 0 && s.server.TTL > 0 {
		next := *s
		next.left.forces--
		next.force = forcing{seen: s.server.Fields(), phase: forceSeen, window: w.ForceWindow}
		w.step(step{kind: forceLooks, fields: next.force.seen}, &next)
	}
	if s.force.phase == forceSeen {
		next := *s
		m := w.sendForce(&next)
		w.step(step{kind: forceSends, msg: m}, &next)
	}
}

// sendForce tells the holders of the process, refuses their grants under way, and sends the removal.
func (w *world) sendForce(next *state) message {
	f := &next.force
	for o := range next.seats {
		if at := &next.seats[o]; f.seen.Has(w.slot(at.field)) && at.field != 0 && w.rules.has(ForceTellsFirst) {
			at.finish(lost)
		}
	}
	if w.rules.has(ForceRefusesGrants) {
		next.revoked |= f.seen
	}
	m := message{op: force, fields: f.seen, lease: f.window, who: aForce}
	next.send(m)
	*f = forcing{phase: forceSent}
	return m
}
