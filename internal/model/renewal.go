package model

// watchdogSteps renew a tenure, if that would prove more than is proven. One renewal is under way at a time.
func (w *world) watchdogSteps(s *state, o uint8) {
	at := &s.seats[o]
	lease := w.renewalLease(at)
	if !at.believes() || s.awaited(watchdogOf(o)) != nil || minus(lease, w.margin()) <= at.deadline {
		return
	}
	next := *s
	m := message{op: renew, field: at.field, lease: lease, who: watchdogOf(o)}
	next.send(m)
	w.step(step{kind: renews, owner: o, msg: m}, &next)
}

// renewalLease is what a renewal asks for now; 0: nothing.
func (w *world) renewalLease(at *seat) uint8 {
	switch {
	case !w.Renewal || at.field == 0:
		return 0
	case at.isWatched():
		return w.Lease
	case w.renewsRaise():
		return w.raiseDue(at)
	default:
		return 0
	}
}

// renewsRaise: a raise that is not confirmed is renewed. Without a watchdog nobody can.
func (w *world) renewsRaise() bool {
	return !w.Renewal || w.rules.has(RaiseAtLastWatched) && w.rules.has(RenewUntilRaised)
}

// raiseDue is the lease that the fixed levels still need beyond what is proven, once no level is watched any more.
func (w *world) raiseDue(at *seat) uint8 {
	if at.field == 0 || at.isWatched() || !w.rules.has(RaiseAtLastWatched) && w.Renewal {
		return 0
	}
	if left := at.fixed(); left > at.deadline+w.Margin {
		return left
	}
	return 0
}

// hearRenewal is about the answer to a renewal. One about a hold that has ended proves nothing.
func (w *world) hearRenewal(next *state, m message) result {
	at := &next.seats[m.who.seat()]
	if at.field == 0 || at.end != alive || at.field != m.field && w.rules.has(IgnoreAnswersAfterEnd) {
		return ignored
	}
	if m.reply == Held {
		w.confirm(next, at, m.lease, m.age)
		return holds
	}
	w.learnGone(next, at)
	return learnsGone
}

// learnGone ends a tenure because the server said that its field is gone.
func (w *world) learnGone(next *state, at *seat) {
	if w.rules.has(GoneIsLoss) {
		at.finish(gone)
	}
	switch {
	case at.believes():
		w.fail(next, LossIsTaken)
	case next.server.has(w.slot(at.field)) && !(next.touched | next.stray).Has(w.slot(at.field)):
		w.fail(next, NoFalseAlarm)
	}
}

// finish ends a tenure, unless it has ended already.
func (s *seat) finish(why ending) {
	if s.end == alive {
		s.end = why
	}
}
