package model

// run lets a request run on the server. It returns the message with its answer, which stays on its way if somebody waits.
func (w *world) run(next *state, i int) message {
	m := next.net[i]
	before := next.server
	var published bool
	m.reply, published = w.execute(&next.server, &m)
	next.publish(published)
	w.judge(next, &before, &m)
	next.net[i] = m
	if m.who == nobody {
		next.net[i] = message{}
	}
	return m
}

func (w *world) execute(v *Server, m *message) (r Reply, published bool) {
	f := w.slot(m.field)
	switch m.op {
	case acquire:
		return v.Acquire(f, m.count, m.lease, m.fields, w.rules)
	case release:
		return v.Release(f, m.count, m.lease, w.rules)
	case renew:
		return v.Renew(f, m.lease, w.rules), false
	case handOver:
		return v.HandOver(f, w.slot(m.to), m.lease, w.rules)
	default:
		return v.Force(m.fields, m.age < m.lease, w.rules)
	}
}

// judge looks at what a command has changed on the server.
func (w *world) judge(next *state, before *Server, m *message) {
	after := &next.server
	if m.op == force {
		if m.age < m.lease && before.has(joes) && !after.has(joes) {
			next.touched |= SetOf(joes) // that is what it was for
		}
		return
	}
	if m.op == renew && !before.has(w.slot(m.field)) && before.TTL != after.TTL {
		w.fail(next, NoLateTouch)
	}
	if m.again || m.op == handOver && next.stray.Has(w.slot(m.field)) {
		next.stray |= after.Fields() &^ before.Fields()
	}
	w.judgeHolds(next, before, m)
	w.judgeUnlocks(next, before, m)
}

// judgeHolds looks at the holds whose count a command has changed, or set right.
func (w *world) judgeHolds(next *state, before *Server, m *message) {
	counts := m.op == acquire && m.who.isThread() || m.op == release && (m.who.isThread() || m.who.isRecount())
	for o := range next.seats {
		at := &next.seats[o]
		f := w.slot(at.field)
		changed := before.Levels[f] != next.server.Levels[f]
		if at.field == m.field {
			at.smudged = !counts && (changed || at.smudged)
		} else if changed && w.certain(next, at) {
			w.fail(next, NoLateTouch)
		}
	}
}

// judgeUnlocks notes that an Unlock which is under way has removed its field, by a command that was sent in time.
func (w *world) judgeUnlocks(next *state, before *Server, m *message) {
	if m.op != release && m.op != handOver {
		return
	}
	for t := range next.threads {
		th := &next.threads[t]
		f := w.slot(th.field)
		last := (th.phase == giving || th.phase == regiving) && th.remain == 0
		if last && th.field == m.field && before.has(f) && !next.server.has(f) && m.marks&timely != 0 {
			th.removed = true
		}
	}
}
