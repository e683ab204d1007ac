package model

// world is a Config under a set of rules. Its methods take the state apart into the steps that can come next: each copies
// the state, changes the copy and hands it to emit together with what was done.
type world struct {
	Config
	rules   Rules
	most    uint8 // the longest lease
	names   bool  // attempts keep their numbers, for stories
	raw     bool  // nothing is dropped for having no effect any more, for a test
	emit    func(step, *state)
	emitted int
}

// newWorld checks nothing: a Config that is too large panics when it gets there.
func newWorld(c Config, rules Rules) *world {
	return &world{Config: c, rules: rules, most: c.longest()}
}

// start is the state in which nobody has done anything.
func (w *world) start() state {
	s := state{left: budgets{
		w.Cancels, w.Timeouts, w.Repeats, w.Refusals, w.Deletes, w.Forces, w.Drift,
	}}
	for t, thread := range w.Threads {
		s.threads[t].calls = thread.Calls
	}
	s.joe.calls = w.Joe.Calls
	return s
}

// expand emits every state that one step leads to.
func (w *world) expand(s *state) {
	for t := range w.Threads {
		w.threadSteps(s, t)
	}
	w.networkSteps(s)
	w.settlerSteps(s)
	for o := range uint8(owners) {
		w.recountSteps(s, o)
		w.watchdogSteps(s, o)
	}
	w.joeSteps(s)
	w.operatorSteps(s)
	w.clockSteps(s)
}

// step emits next, tidied up.
func (w *world) step(did step, next *state) {
	w.tidy(next)
	w.emitted++
	w.emit(did, next)
}

// fail notes what a step has broken.
func (w *world) fail(s *state, p Property) {
	if s.broken == 0 && w.watches(p) {
		s.broken = p
	}
}

func (w *world) watches(p Property) bool { return w.Watch == 0 || w.Watch.has(p) }

// seatOf is the owner of a thread.
func (w *world) seatOf(s *state, t int) *seat { return &s.seats[w.Threads[t].Owner] }

// ownerOf is the owner of an attempt.
func ownerOf(f Field) uint8 { return uint8(f-1) / perOwner }

// slot is the field under which the attempt is known to the server.
func (w *world) slot(f Field) Field {
	if w.rules.has(FieldPerAttempt) || f == 0 || f == joes {
		return f
	}
	return Field(ownerOf(f)*perOwner + 1)
}

// newField names a new attempt of the owner.
func (w *world) newField(s *state, o uint8) Field {
	if s.seats[o].made == perOwner {
		panic("model: more attempts than perOwner: a smaller budget, or more fields")
	}
	s.seats[o].made++
	return Field(o*perOwner + s.seats[o].made)
}

// leaseOf is the lease that a level of that kind asks for.
func (w *world) leaseOf(k Kind) uint8 {
	if k == 0 {
		return w.Lease
	}
	return k
}

// margin is how much earlier than its lease a hold is over.
func (w *world) margin() uint8 {
	if w.rules.has(Margin) {
		return w.Margin
	}
	return 0
}

// valid is for how long from now a command that was sent age ticks ago proves the hold.
func (w *world) valid(lease, age uint8) uint8 {
	if !w.rules.has(StampBeforeSending) {
		age = 0
	}
	return minus(lease, age+w.margin())
}

// confirm takes an answered command of a tenure for proof. The holder may have seen by himself that the deadline has passed.
func (w *world) confirm(next *state, at *seat, lease, age uint8) {
	switch {
	case lease == 0, at.deadline == 0 && w.rules.has(OverStaysOver):
		return
	case at.deadline == 0 && w.valid(lease, age) > 0:
		w.fail(next, OverIsOver)
	}
	w.prove(at, lease, age)
}

// prove moves the deadline to what a command proves.
func (w *world) prove(at *seat, lease, age uint8) {
	until := w.valid(lease, age)
	at.proof = max(at.proof, until)
	if w.rules.has(LatestProof) {
		until = max(until, at.deadline)
	}
	at.deadline = until
}

// turnTaken: a command of the owner is under way, or one that he waits for. A waiter that a hand-over names counts too:
// its owner must not begin a hold by another way meanwhile.
func (w *world) turnTaken(s *state, o uint8) bool {
	for t := range w.Threads {
		if w.Threads[t].Owner != o {
			continue
		}
		switch s.threads[t].phase {
		case asking, giving, regiving:
			if w.rules.has(OneCommandAtATime) {
				return true
			}
		case named:
			if w.rules.has(NamedHoldsTurn) {
				return true
			}
		case idle, retrying, parked:
		}
	}
	m := s.awaited(recountOf(o))
	return m != nil && m.op == release && w.rules.has(OneCommandAtATime)
}

// cared are the fields that a caller or a tenure has to do with.
func (w *world) cared(s *state) (all FieldSet) {
	for i := range s.seats {
		all |= SetOf(w.slot(s.seats[i].field))
	}
	for i := range s.threads {
		all |= SetOf(w.slot(s.threads[i].field), w.slot(s.threads[i].to))
	}
	return all
}
