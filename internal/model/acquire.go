package model

// threadSteps are what a goroutine may do next.
func (w *world) threadSteps(s *state, t int) {
	switch s.threads[t].phase {
	case idle:
		w.lockSteps(s, t)
		w.unlockSteps(s, t)
	case retrying, parked:
		w.lookStep(s, t)
		w.giveUpStep(s, t)
	case asking:
		w.giveUpStep(s, t)
	case named:
		if !w.rules.has(OnlyParked) {
			w.lookStep(s, t)
		}
		w.giveUpStep(s, t)
	case giving: // it waits
	case regiving:
		w.giveAgainSteps(s, t)
	}
}

// lockSteps begin a call of Lock, on whatever lease the thread may ask for.
func (w *world) lockSteps(s *state, t int) {
	th, at := &s.threads[t], w.seatOf(s, t)
	if th.calls == 0 || w.turnTaken(s, w.Threads[t].Owner) {
		return
	}
	leases := w.Threads[t].Outer
	if at.field != 0 {
		leases = w.Threads[t].Inner
		if !at.believes() || at.count >= w.Threads[t].Depth {
			return // on a lost tenure it fails without a command
		}
	}
	for _, kind := range kinds(leases) {
		next := *s
		next.threads[t].calls--
		next.threads[t].kind = kind
		sent, _ := w.look(&next, t)
		w.step(step{kind: asks, thread: t, msg: sent}, &next)
	}
}

// lookStep lets a call that is under way look once more.
func (w *world) lookStep(s *state, t int) {
	if s.threads[t].phase != named && w.turnTaken(s, w.Threads[t].Owner) {
		return
	}
	next := *s
	sent, result := w.look(&next, t)
	w.step(step{kind: looks, thread: t, msg: sent, result: result}, &next)
}

// look makes one attempt, by whatever way the owner's state demands.
func (w *world) look(next *state, t int) (message, result) {
	th, at := &next.threads[t], w.seatOf(next, t)
	switch {
	case at.field == 0:
		return w.askFresh(next, t), 0
	case at.believes():
		return w.askNested(next, t), 0
	default:
		at.finish(lost)
		th.endCall()
		return message{}, saysErrLost
	}
}

// askFresh asks for a hold. Only after a definite "taken" the thread has a field left.
func (w *world) askFresh(next *state, t int) message {
	th, o := &next.threads[t], w.Threads[t].Owner
	if th.field == 0 {
		th.field = w.newField(next, o)
	}
	lease := w.leaseOf(th.kind)
	m := message{
		op: acquire, field: th.field, count: 1, lease: lease, fields: w.carried(next, o), who: threadOf(t),
	}
	th.phase = asking
	next.send(m)
	return m
}

// askNested asks for a level more of the owner's tenure.
func (w *world) askNested(next *state, t int) message {
	th, at := &next.threads[t], w.seatOf(next, t)
	th.field = 0 // the lock was taken under it, now it is the owner's already
	lease := w.leaseOf(th.kind)
	if w.rules.has(WatchdogsLeaseWhileWatched) && (at.isWatched() || w.raiseDue(at) > 0) {
		lease = w.Lease
	}
	m := message{op: acquire, field: at.field, count: at.count + 1, lease: lease, who: threadOf(t)}
	th.phase = asking
	next.send(m)
	return m
}

// endCall ends a call of Lock.
func (th *thread) endCall() { th.phase, th.field, th.kind = idle, 0, 0 }
