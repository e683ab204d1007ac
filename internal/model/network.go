package model

// networkSteps are what can become of the messages on their way.
func (w *world) networkSteps(s *state) {
	for i := range s.net {
		switch m := &s.net[i]; {
		case m.op == nothing:
		case m.reply == none:
			w.runSteps(s, i)
			w.refuseStep(s, i)
		default:
			w.hearStep(s, i)
		}
		w.timeoutSteps(s, i)
	}
}

// runSteps let a request arrive. The network may keep a copy, to deliver it again.
func (w *world) runSteps(s *state, i int) {
	next := *s
	m := w.run(&next, i)
	w.step(step{kind: runs, msg: m}, &next)
	if s.left.repeats == 0 {
		return
	}
	next = *s
	next.left.repeats--
	again := s.net[i]
	m = w.run(&next, i)
	again.unhear()
	again.again = true
	next.send(again)
	w.step(step{kind: runsTwice, msg: m}, &next)
}

// refuseStep lets the server refuse a request of a thread, which never runs then.
func (w *world) refuseStep(s *state, i int) {
	if s.left.refusals == 0 || !s.net[i].who.isThread() {
		return
	}
	next := *s
	next.left.refusals--
	m := s.net[i]
	m.reply = refused
	next.net[i] = message{}
	result := w.hear(&next, m)
	w.step(step{kind: refuses, msg: m, result: result}, &next)
}

// hearStep brings an answer to whoever waits for it.
func (w *world) hearStep(s *state, i int) {
	next := *s
	m := s.net[i]
	next.net[i] = message{}
	result := w.hear(&next, m)
	w.step(step{kind: hears, msg: m, result: result}, &next)
}

func (w *world) hear(next *state, m message) result {
	switch who := m.who; {
	case who.isThread() && m.op == acquire:
		return w.hearAcquire(next, m)
	case who.isThread():
		return w.hearGiveBack(next, m)
	case who.isWatchdog():
		return w.hearRenewal(next, m)
	case who.isRecount():
		return w.hearRecount(next, m)
	case who == aSettler:
		return w.hearSettler(next, m)
	case who == aListener:
		return w.decide(next, m.field, m.reply)
	case who == aForce:
		next.force = forcing{}
	}
	return ignored
}

// timeoutSteps let whoever waits for a message wait no longer.
func (w *world) timeoutSteps(s *state, i int) {
	m := s.net[i]
	if m.op == nothing || s.left.timeouts == 0 || m.who == nobody || m.who == aListener || m.who.isRecount() && m.op == acquire {
		return
	}
	next := *s
	next.left.timeouts--
	if !w.rules.has(NoResend) && m.who.isThread() {
		w.resend(&next, i)
		w.step(step{kind: resends, msg: m}, &next)
		return
	}
	result := w.timeOut(&next, i)
	w.step(step{kind: timesOut, msg: m, result: result}, &next)
}

// timeOut tells the caller of a message that there was no answer.
func (w *world) timeOut(next *state, i int) result {
	m := &next.net[i]
	switch {
	case m.who.isThread() && m.op == acquire:
		w.hearNothing(next, m.who.thread())
		return 0
	case m.who.isThread():
		th := &next.threads[m.who.thread()]
		th.phase = regiving
		th.judged = true
		th.doubt = th.doubt || m.marks&timely != 0 || !w.rules.has(DoubtInTime)
		m.unhear()
		return 0
	case m.who == aSettler:
		o := next.orphan(m.field)
		m.unhear()
		if !w.rules.has(SettleAgain) {
			next.forget(o)
			return givenUp
		}
		return w.settleOn(next, o)
	case m.who == aForce:
		next.force = forcing{}
	}
	m.unhear()
	return 0
}

// resend lets the transport send a command again, without a word to its caller.
func (w *world) resend(next *state, i int) {
	first := next.net[i]
	next.net[i].reply = none
	if first.reply == none {
		first.unhear()
		next.send(first)
	}
}
