package model

// hearAcquire is what a thread makes of the answer to its acquire.
func (w *world) hearAcquire(next *state, m message) result {
	th := &next.threads[m.who.thread()]
	switch {
	case m.reply == refused:
		th.phase = retrying
		if w.rules.has(NewFieldAfterUnknown) {
			th.field = 0
		}
		return goesOn
	case m.reply == Taken:
		th.phase = parked
		return waits
	case !m.isFresh():
		return w.hearNested(next, m)
	default:
		return w.hearGrant(next, m.who.thread(), m)
	}
}

// hearGrant begins the tenure that a grant proves, to an acquire or to a hand-over, unless it comes too late or the lock was
// unlocked by force meanwhile.
func (w *world) hearGrant(next *state, t int, m message) result {
	th, f := &next.threads[t], m.field
	if m.op == handOver {
		f = m.to
	}
	late := w.rules.has(LateAnswerIsNoGrant) && w.valid(m.lease, m.age) == 0
	if revoked := next.revoked.Has(w.slot(f)); late || revoked {
		w.abandon(next, orphan{field: f, known: true})
		th.phase, th.field = retrying, 0
		if revoked {
			return isRevoked
		}
		return comesTooLate
	}
	w.begin(next, t, f, m)
	return holds
}

func (w *world) begin(next *state, t int, f Field, m message) {
	th, at := &next.threads[t], w.seatOf(next, t)
	at.vacate()
	at.field, at.deadline, at.proof = f, 0, 0
	w.prove(at, m.lease, m.age)
	at.push(th.kind, m.age)
	at.loose = th.kind != 0
	th.levels++
	th.endCall()
	if !at.believes() {
		w.fail(next, NilIsHeld)
	}
}

// hearNested adds the level that a confirmed nested acquire proves, if the tenure still is.
func (w *world) hearNested(next *state, m message) result {
	th, at := &next.threads[m.who.thread()], w.seatOf(next, m.who.thread())
	switch {
	case at.field != m.field && m.reply == Lost && !w.rules.has(GivenBackIsNotLost):
		w.fail(next, NoFalseAlarm)
		th.endCall()
		return saysErrLost
	case at.field != m.field: // it was given back out of turn, so this is a new hold
		th.phase = retrying
		return goesOn
	case m.reply == Lost:
		w.learnGone(next, at)
	case at.end == alive:
		w.confirm(next, at, m.lease, m.age)
	}
	if !at.believes() {
		at.finish(lost)
		th.endCall()
		return saysErrLost
	}
	at.push(th.kind, m.age)
	at.loose = at.loose || !at.isWatched()
	th.levels++
	th.endCall()
	return holds
}
