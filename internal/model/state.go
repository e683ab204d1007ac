package model

import "slices"

const (
	maxThreads = 3
	maxOrphans = 4
	maxLevels  = 3
	netSize    = 7
)

// state is everything at one moment. Two states that are equal have the same future. It has no pointers and no gaps, so
// that it can be copied, compared and hashed as it lies in memory. All times are relative, what is left of something:
// no clock keeps two states apart that are alike.
type state struct {
	net     [netSize]message // requests and answers on their way
	force   forcing
	touched FieldSet // fields that an operator took away: what follows from that is his doing
	stray   FieldSet // fields that may stand although nobody cares: a repeated request, or one beyond its lease
	revoked FieldSet // fields that a forced unlock named
	broken  Property // by the step that led here
	server  Server
	seats   [owners]seat
	threads [maxThreads]thread
	orphans [maxOrphans]orphan
	joe     peer
	left    budgets
}

// seat is an owner at the lock, and his tenure if he has one.
type seat struct {
	field    Field // of the tenure; 0: none
	end      ending
	deadline uint8 // what is left until it; it outlives the tenure, for the Unlock that ended it
	proof    uint8 // the same, as the best of the confirmed commands proves it
	count    uint8
	levels   [maxLevels]uint8 // of each level: watched, or 1 + what its fixed lease has left
	made     uint8            // attempts so far
	recount  bool             // the count in Redis is in doubt, and the background is to set it
	smudged  bool             // a late command may have changed the count in Redis
	loose    bool             // it once had no watched level, and so may stand longer than the watchdog's lease
}

// watched is a level without a lease of its own.
const watched = 255

// ending is why a tenure is over.
type ending uint8

const (
	alive ending = iota
	lost         // by the clock or by force: the field may still stand
	gone         // the server said so
)

// thread is a goroutine that calls Lock and Unlock.
type thread struct {
	phase  phase
	calls  uint8 // of Lock, left
	kind   Kind  // of the call under way
	levels uint8 // that it has to give back

	field Field // asking or parked: of the attempt; named: the hand-over's; giving: the hold's
	to    Field // giving: the hand-over's target

	remain  uint8 // giving: the count that is left
	judged  bool  // giving: whole stays as it is, for an attempt is in doubt, or Unlock came too late anyway
	doubt   bool  // giving: one that counts is in doubt
	whole   bool  // giving: the field stood when the first attempt was sent that was not refused, and Unlock was in time
	removed bool  // giving: an attempt that was sent before the deadline has removed the field
}

type phase uint8

const (
	idle     phase = iota // outside the library
	asking                // an acquire of its is under way
	retrying              // an attempt came to nothing
	parked                // the lock is taken
	named                 // a hand-over to it is under way
	giving                // a command of its Unlock is under way
	regiving              // that was not answered
)

// orphan is a field that its owner has abandoned, and that the background settles.
type orphan struct {
	field  Field
	until  uint8 // what is left of a lease since the last command that may let it stand was sent
	known  bool  // it is known to have stood, so that no such command is in doubt
	listed bool  // acquires name it
	busy   bool  // a release is under way
}

// peer is the holder in another process.
type peer struct {
	calls uint8
	hold  uint8 // what is left of his lease; 0: he does not hold
	sleep uint8 // for how long he sleeps
}

// forcing is a forced unlock.
type forcing struct {
	seen   FieldSet // by its look
	phase  forcePhase
	window uint8 // what is left of the time in which it may remove
}

type forcePhase uint8

const (
	forceIdle forcePhase = iota
	forceSeen
	forceSent
)

// budgets is what may still go wrong.
type budgets struct{ cancels, timeouts, repeats, refusals, deletes, forces, drift uint8 }

// believes reports whether the owner may think that he holds the lock: he was told so, the deadline has not passed, and
// nobody told him that it is lost.
func (s *seat) believes() bool { return s.field != 0 && s.end == alive && s.deadline > 0 }

// isWatched reports whether a level is renewed.
func (s *seat) isWatched() bool {
	return slices.Contains(s.levels[:s.count], watched)
}

// fixed is what the fixed levels have left.
func (s *seat) fixed() (left uint8) {
	for _, level := range s.levels[:s.count] {
		if level != watched {
			left = max(left, level-1)
		}
	}
	return left
}

// push adds a level of that kind, for which age ticks have passed.
func (s *seat) push(kind Kind, age uint8) {
	level := uint8(watched)
	if kind > 0 {
		level = 1 + minus(kind, age)
	}
	s.levels[s.count] = level
	s.count++
}

// pop takes a level out.
func (s *seat) pop(i uint8) {
	copy(s.levels[i:], s.levels[i+1:s.count])
	s.count--
	s.levels[s.count] = 0
}

// vacate ends the tenure. The deadline stays, for the Unlock under way.
func (s *seat) vacate() {
	*s = seat{deadline: s.deadline, proof: s.proof, made: s.made}
}

// minus is a - b, but no less than 0.
func minus(a, b uint8) uint8 {
	if b > a {
		return 0
	}
	return a - b
}
