package model

// hearGiveBack is what a thread makes of the answer to a command of its Unlock.
func (w *world) hearGiveBack(next *state, m message) result {
	t := m.who.thread()
	th, at := &next.threads[t], w.seatOf(next, t)
	if m.reply == refused {
		th.phase = regiving
		return goesOn
	}
	if m.op == handOver {
		w.decideHandOver(next, m)
	}
	switch m.reply {
	case NotHeld, Neither:
		return w.concludeNotHeld(next, t)
	default:
	}
	if th.remain > 0 && at.field == m.field && at.end == alive {
		w.confirm(next, at, m.lease, m.age)
	}
	return w.answerNil(next, t, true)
}

// concludeNotHeld: the field is not there. That is a success if an earlier attempt of this very Unlock may have removed it.
func (w *world) concludeNotHeld(next *state, t int) result {
	th, at := &next.threads[t], w.seatOf(next, t)
	over := th.remain > 0 && at.field != th.field // given back by an Unlock out of turn of the same owner
	switch {
	case th.remain == 0 && th.doubt && w.rules.has(NilAfterDoubt), !w.rules.has(NotHeldIsLoss),
		over && w.rules.has(GivenBackIsNotLost):
		return w.answerNil(next, t, false)
	case th.remain > 0 && !over:
		w.learnGone(next, at)
	case th.removed || over && !next.touched.Has(w.slot(th.field)):
		w.fail(next, HonestUnlock)
	}
	w.endUnlock(next, t)
	return saysErrLost
}

// answerNil ends an Unlock with nil. That is wrong if the field had gone before, unless it was an operator who took it and
// nobody could know: an attempt is in doubt, or it was there, by a repeated acquire.
func (w *world) answerNil(next *state, t int, there bool) result {
	th := &next.threads[t]
	unknowable := next.touched.Has(w.slot(th.field)) && (th.doubt || there)
	if !th.whole && !unknowable {
		w.fail(next, HonestUnlock)
	}
	w.endUnlock(next, t)
	return saysNil
}

func (w *world) endUnlock(next *state, t int) {
	th, at := &next.threads[t], w.seatOf(next, t)
	if th.remain == 0 && th.field == at.field {
		at.vacate()
	}
	*th = thread{calls: th.calls, levels: th.levels}
}

// giveAgainSteps are what an Unlock does that was not answered: it tries again, until its budget is over.
func (w *world) giveAgainSteps(s *state, t int) {
	next := *s
	var sent message
	if b, ok := w.waiter(s, s.threads[t].to); ok {
		sent = w.sendHandOver(&next, t, b)
	} else { // who was named has left: his field must not stand any more
		next.threads[t].to = 0
		sent = w.sendRelease(&next, t)
	}
	w.step(step{kind: unlocksAgain, thread: t, msg: sent}, &next)

	next = *s
	w.leaveUnlock(&next, t)
	w.step(step{kind: leavesUnlock, thread: t, field: s.threads[t].field}, &next)
}

// leaveUnlock leaves to the background what could not be told to the server. The level is given back all the same.
func (w *world) leaveUnlock(next *state, t int) {
	th, at := &next.threads[t], w.seatOf(next, t)
	if th.remain > 0 {
		at.recount = true
	} else {
		w.abandon(next, orphan{field: th.field, known: true})
	}
	if th.to != 0 {
		w.leaveHandOver(next, th.to)
	}
	w.endUnlock(next, t)
}
