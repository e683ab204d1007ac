package model

// unlockSteps begin an Unlock of a level that the thread has taken.
func (w *world) unlockSteps(s *state, t int) {
	th, at := &s.threads[t], w.seatOf(s, t)
	if th.levels == 0 || at.field == 0 {
		return
	}
	taken := w.turnTaken(s, w.Threads[t].Owner)
	switch {
	case at.end != alive || at.deadline == 0 && w.rules.has(LossIsTold):
		if !taken {
			next := *s
			w.giveBackLost(&next, t)
			w.step(step{kind: unlocksLost, thread: t, field: at.field}, &next)
		}
		return
	case taken:
		w.giveBackOutOfTurn(s, t)
		return
	}
	first := at.count - 1
	if w.AnyOrder {
		first = 0
	}
	for level := first; level < at.count; level++ {
		w.giveBackSteps(s, t, level)
	}
}

// giveBackLost gives back a level of a tenure that is over. What may still stand of it in Redis is settled.
func (w *world) giveBackLost(next *state, t int) {
	th, at := &next.threads[t], w.seatOf(next, t)
	at.finish(lost)
	th.levels--
	at.pop(at.count - 1)
	if at.count > 0 {
		return
	}
	if at.end != gone && w.rules.has(GiveBackLost) {
		w.abandon(next, orphan{field: at.field, known: true})
	}
	at.vacate()
}

// giveBackSteps give back one level: by a release, and if it is the last one by a hand-over to any waiter instead.
func (w *world) giveBackSteps(s *state, t int, level uint8) {
	next := *s
	th, at := &next.threads[t], w.seatOf(&next, t)
	th.phase, th.field, th.levels = giving, at.field, th.levels-1
	th.judged = at.deadline == 0 // only without a rule
	at.pop(level)
	at.loose = at.loose || !at.isWatched()
	th.remain = at.count
	if at.count == 0 && w.rules.has(EndBeforeSending) { // so that nobody believes to hold any more, and no renewal starts
		at.vacate()
	}
	for b := range w.Threads {
		if th.remain == 0 && w.canHandOver(&next, t, b) {
			handed := next
			sent := w.nameAndSend(&handed, t, b)
			w.step(step{kind: unlocks, thread: t, msg: sent}, &handed)
		}
	}
	sent := w.sendRelease(&next, t)
	w.step(step{kind: unlocks, thread: t, msg: sent}, &next)
}

// giveBackOutOfTurn gives back a level although another command of the owner does not end in time. Nothing is sent: all is
// left to the background.
func (w *world) giveBackOutOfTurn(s *state, t int) {
	if s.left.timeouts == 0 {
		return
	}
	next := *s
	next.left.timeouts--
	th, at := &next.threads[t], w.seatOf(&next, t)
	field := at.field
	th.levels--
	at.pop(at.count - 1)
	if at.count > 0 {
		at.recount = true
	} else {
		w.abandon(&next, orphan{field: field, known: true})
		at.vacate()
	}
	w.step(step{kind: leavesUnlock, thread: t, field: field}, &next)
}

// sendRelease tells the server the count that is left, and what the fixed levels need.
func (w *world) sendRelease(next *state, t int) message {
	th, at := &next.threads[t], w.seatOf(next, t)
	m := message{
		op: release, field: th.field, count: th.remain, lease: w.raiseDue(at), who: threadOf(t), marks: w.stamp(next, t),
	}
	if th.remain == 0 {
		m.lease = 0
	}
	th.phase = giving
	if !w.rules.has(InnerReleaseKeepsTTL) && th.remain > 0 {
		m.lease = w.Lease
	}
	next.send(m)
	return m
}

// stamp notes whether the hold is certain when a command of an Unlock is sent, and whether it is there.
func (w *world) stamp(next *state, t int) mark {
	th := &next.threads[t]
	if !th.judged {
		th.whole = next.server.has(w.slot(th.field))
	}
	if w.seatOf(next, t).deadline > 0 {
		return timely
	}
	return 0
}
