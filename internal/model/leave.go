package model

// giveUpStep lets the caller of Lock give up: his context ends, or his patience, or the retry budget.
func (w *world) giveUpStep(s *state, t int) {
	th := s.threads[t]
	if th.phase != retrying && s.left.cancels == 0 {
		return
	}
	next := *s
	if th.phase != retrying {
		next.left.cancels--
	}
	switch {
	case th.phase == asking, th.phase == named:
		w.leaveBehind(&next, t)
	case th.phase == retrying && th.field != 0: // only without a rule: else every attempt in doubt was left behind before
		w.abandon(&next, orphan{field: th.field, until: w.leaseOf(th.kind)})
	}
	next.threads[t].endCall()
	w.step(step{kind: givesUp, thread: t, field: th.field}, &next)
}

// leaveBehind is what is to be done when a thread stops waiting for an attempt.
func (w *world) leaveBehind(next *state, t int) {
	th, at := &next.threads[t], w.seatOf(next, t)
	m := next.awaited(threadOf(t))
	switch {
	case th.phase == named && !w.rules.has(LeaverAbandons):
	case th.phase == named: // the hand-over is another thread's
		w.abandon(next, orphan{field: th.field, until: next.lastHandOver(th.field, w.leaseOf(th.kind))})
	case !m.isFresh():
		at.recount = true
		m.who = recountOf(w.Threads[t].Owner)
	case !w.rules.has(UnknownIsNotRefused):
		m.unhear()
	default:
		w.abandon(next, orphan{field: m.field, until: minus(m.lease, m.age)})
		m.who, m.age = aListener, 0
	}
}

// hearNothing lets a thread stop waiting for an acquire, and try again.
func (w *world) hearNothing(next *state, t int) {
	th := &next.threads[t]
	m := next.awaited(threadOf(t))
	if m.isFresh() && !w.rules.has(NewFieldAfterUnknown) {
		m.unhear()
		th.phase = retrying
		return
	}
	w.leaveBehind(next, t)
	th.phase, th.field = retrying, 0
}
