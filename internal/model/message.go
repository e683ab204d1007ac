package model

// message is a request on its way to the server, or when it has run its answer on the way back.
type message struct {
	fields FieldSet // acquire: the abandoned ones; force: those that it removes
	op     operation
	reply  Reply // none: it has not run
	field  Field // the attempt that it belongs to
	to     Field // hand-over: the attempt that it grants
	count  uint8 // the levels that are wanted, or that remain
	lease  uint8 // the lease that it names; force: the time in which it may run
	age    uint8 // since it was sent, while that matters to somebody
	who    caller
	marks  mark
	again  bool // the network has delivered it before
}

type operation uint8

const (
	nothing operation = iota
	acquire
	release
	renew
	handOver
	force
)

// caller is who waits for an answer.
type caller uint8

const (
	nobody    caller = 0
	aThread   caller = 1                    // and the two that follow: a thread, for its call
	aWatchdog caller = aThread + maxThreads // for the tenure of owner 0, and of owner 1
	aRecount  caller = aWatchdog + owners   // likewise
	aSettler  caller = aRecount + owners    // of an abandoned field
	aForce    caller = aSettler + 1
	aListener caller = aForce + 1 // a settler, for what became of the acquire that is in doubt
)

func threadOf(t int) caller       { return aThread + caller(t) }   //nolint:gosec // three
func watchdogOf(o uint8) caller   { return aWatchdog + caller(o) } // two
func recountOf(o uint8) caller    { return aRecount + caller(o) }
func (c caller) thread() int      { return int(c - aThread) }
func (c caller) isThread() bool   { return c >= aThread && c < aThread+maxThreads }
func (c caller) isWatchdog() bool { return c >= aWatchdog && c < aWatchdog+owners }
func (c caller) isRecount() bool  { return c >= aRecount && c < aRecount+owners }

// seat is the owner whose tenure the watchdog or the recount is about.
func (c caller) seat() uint8 {
	if c.isRecount() {
		return uint8(c - aRecount)
	}
	return uint8(c - aWatchdog)
}

// mark is what a caller notes on a command when he sends it.
type mark uint8

const (
	timely  mark = 1 << iota // release, hand-over: the deadline had not passed
	inDoubt                  // a settler's release: the acquire was in doubt
)

// isFresh reports whether the command would begin a hold.
func (m *message) isFresh() bool { return m.op == acquire && m.count == 1 }

// send puts a command on its way.
func (s *state) send(m message) {
	for i := range s.net {
		if s.net[i].op == nothing {
			s.net[i] = m
			return
		}
	}
	panic("model: more commands under way than netSize: a smaller budget, or a larger network")
}

// unhear lets nobody wait for a message any more. An answer is lost with that, a request still comes.
func (m *message) unhear() {
	if m.reply != none {
		*m = message{}
		return
	}
	m.who, m.marks = nobody, m.marks&timely
	if m.op != force { // which looks at the time itself
		m.age = 0
	}
}

// awaited finds the message that somebody waits for.
func (s *state) awaited(who caller) *message {
	for i := range s.net {
		if s.net[i].op != nothing && s.net[i].who == who {
			return &s.net[i]
		}
	}
	return nil
}
