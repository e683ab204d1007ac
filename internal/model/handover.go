package model

// canHandOver reports whether an Unlock of thread t may hand over to thread b: to a waiter that is parked, of another owner
// none of whose commands is under way.
func (w *world) canHandOver(s *state, t, b int) bool {
	o := w.Threads[b].Owner
	return w.HandOver && s.threads[b].phase == parked && o != w.Threads[t].Owner && !w.turnTaken(s, o)
}

// nameAndSend gives a waiter a new field and sends the hand-over to it. From here on the waiter does not look for itself.
func (w *world) nameAndSend(next *state, t, b int) message {
	waiter := &next.threads[b]
	waiter.phase = named
	waiter.field = w.newField(next, w.Threads[b].Owner)
	next.threads[t].to = waiter.field
	return w.sendHandOver(next, t, b)
}

func (w *world) sendHandOver(next *state, t, b int) message {
	th := &next.threads[t]
	m := message{
		op: handOver, field: th.field, to: th.to, lease: w.leaseOf(next.threads[b].kind), who: threadOf(t),
		marks: w.stamp(next, t),
	}
	th.phase = giving
	next.send(m)
	return m
}

// waiter finds the thread whose wait a hand-over names, if it still waits.
func (w *world) waiter(s *state, to Field) (t int, ok bool) {
	for t := range w.Threads {
		if to != 0 && s.threads[t].phase == named && s.threads[t].field == to {
			return t, true
		}
	}
	return 0, false
}

// decideHandOver tells the waiter what became of the hand-over.
func (w *world) decideHandOver(next *state, m message) {
	b, waits := w.waiter(next, m.to)
	switch {
	case waits && m.reply == Handed:
		w.hearGrant(next, b, m)
	case waits:
		next.threads[b].phase, next.threads[b].field = retrying, 0
	case m.reply == Handed && next.orphan(m.to) == nil: // the wait is over, however it ended: so nobody wants the grant
		w.abandon(next, orphan{field: m.to, known: true})
	default:
		w.decide(next, m.to, m.reply)
	}
}

// leaveHandOver is for a hand-over whose outcome is left open: its target is settled, and the waiter goes on with a new field.
func (w *world) leaveHandOver(next *state, to Field) {
	b, waits := w.waiter(next, to)
	if !waits {
		return // who left has abandoned it
	}
	if w.rules.has(SettleBothFields) {
		w.abandon(next, orphan{field: to, until: w.leaseOf(next.threads[b].kind)})
	}
	next.threads[b].phase, next.threads[b].field = retrying, 0
}

// lastHandOver is what is left of a lease since the last hand-over to the field was sent.
func (s *state) lastHandOver(to Field, lease uint8) uint8 {
	for i := range s.net {
		if m := &s.net[i]; m.op == handOver && m.to == to && m.who != nobody {
			return minus(m.lease, m.age)
		}
	}
	return lease // that is not known any more, so longer than needed
}
