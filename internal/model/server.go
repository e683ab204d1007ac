package model

// Field is a field of the lock's hash, or the attempt that it belongs to; 0 is none.
type Field uint8

// How many fields there can be at one time: those of each owner's attempts, and the rival's.
const (
	owners   = 2
	perOwner = 6
	joes     = Field(owners*perOwner + 1) // a Java peer's, which is the same for ever
	fields   = int(joes) + 1
)

// FieldSet is a set of fields.
type FieldSet uint16

// SetOf makes a set.
func SetOf(fields ...Field) FieldSet {
	var s FieldSet
	for _, f := range fields {
		s |= 1 << f
	}
	return s
}

// Has reports whether f is in the set.
func (s FieldSet) Has(f Field) bool { return s&(1<<f) != 0 }

// NoTTL is the TTL of a key that does not expire.
const NoTTL = 255

// Server is what Redis keeps of one lock. Its methods are the Lua scripts: with all rules each of them answers as its
// script does, leaves the same fields and the same TTL, and publishes when it does. A test plays both.
type Server struct {
	Levels [fields]uint8 // by field; 0: not there
	TTL    uint8         // in ticks; 0 when there is no key
}

// Reply is what a script answers, or what came in place of an answer.
type Reply uint8

// The replies. Taken stands for the TTL that the script answers, which is the key's.
const (
	none Reply = iota
	Granted
	Taken
	Lost
	NotHeld
	Kept
	Freed
	Held
	Gone
	Removed
	Nothing
	Handed
	Neither
	refused
)

// Acquire is acquire.lua.
func (v *Server) Acquire(f Field, want, lease uint8, orphans FieldSet, rules Rules) (r Reply, published bool) {
	if v.Levels[f] > 0 {
		v.Levels[f] = counted(want, v.Levels[f]+1, rules)
		v.extend(lease, rules)
		return Granted, false
	}
	if want > 1 && rules.has(NestedNeverTakesAnew) {
		return Lost, false
	}
	there := v.Fields()
	if there&^orphans != 0 {
		return Taken, false
	}
	shortened := there != 0 && v.isLonger(lease)
	*v = Server{TTL: lease}
	v.Levels[f] = want
	return Granted, shortened && rules.has(TellSleepers)
}

// Release is release.lua.
func (v *Server) Release(f Field, remain, raise uint8, rules Rules) (r Reply, published bool) {
	if v.Levels[f] == 0 {
		return NotHeld, false
	}
	v.Levels[f] = counted(remain, v.Levels[f]-1, rules)
	if v.Levels[f] > 0 {
		if !rules.has(InnerReleaseKeepsTTL) && raise > 0 {
			v.TTL = raise
		}
		v.raise(raise)
		return Kept, false
	}
	if v.Fields() != 0 {
		return Kept, false
	}
	v.TTL = 0
	return Freed, true
}

// Renew is renew.lua.
func (v *Server) Renew(f Field, lease uint8, rules Rules) Reply {
	if v.Levels[f] == 0 {
		if !rules.has(RenewOnlyItsField) && v.TTL > 0 {
			v.extend(lease, rules)
		}
		return Gone
	}
	if lease > 0 {
		v.extend(lease, rules)
	}
	return Held
}

// HandOver is handover.lua: rule 12.
func (v *Server) HandOver(from, to Field, lease uint8, rules Rules) (r Reply, published bool) {
	switch {
	case v.Levels[from] > 0:
		shortened := v.isLonger(lease)
		v.Levels[from], v.Levels[to] = 0, 1
		if rules.has(HandOverSetsTTL) {
			v.TTL = lease
		}
		return Handed, shortened && rules.has(TellSleepers)
	case v.Levels[to] > 0 && rules.has(HandOverRepeats):
		if rules.has(HandOverRepeatRaises) {
			v.raise(lease)
		}
		return Handed, false
	default:
		return Neither, false
	}
}

// Force is force.lua; inTime says whether the server's clock has not passed the instant that it names.
func (v *Server) Force(seen FieldSet, inTime bool, rules Rules) (r Reply, published bool) {
	if !inTime && rules.has(ForceInTime) {
		return Nothing, false
	}
	there := v.Fields()
	if !rules.has(ForceFieldsSeen) {
		seen = there
	}
	if there&seen == 0 {
		return Nothing, false
	}
	for f := range v.Levels {
		if seen.Has(Field(f)) {
			v.Levels[f] = 0
		}
	}
	if there&^seen != 0 {
		return Removed, false
	}
	v.TTL = 0
	return Removed, true
}

// Fields are those that the key has.
func (v *Server) Fields() FieldSet {
	var s FieldSet
	for f, levels := range v.Levels {
		if levels > 0 {
			s |= 1 << f
		}
	}
	return s
}

// has reports whether the field stands.
func (v *Server) has(f Field) bool { return v.Levels[f] > 0 }

// isLonger reports whether the key stands longer than that.
func (v *Server) isLonger(lease uint8) bool { return v.TTL > lease } // NoTTL is longer than any

// raise lets the key stand at least that long.
func (v *Server) raise(lease uint8) {
	if lease > 0 && (v.TTL < lease || v.TTL == NoTTL) { // no expiry at all is mended
		v.TTL = lease
	}
}

// extend is raise, for a rule that says so.
func (v *Server) extend(lease uint8, rules Rules) {
	if rules.has(NeverShorten) {
		v.raise(lease)
	} else {
		v.TTL = lease
	}
}

// tick lets time go by.
func (v *Server) tick() {
	if v.TTL == 0 || v.TTL == NoTTL {
		return
	}
	if v.TTL--; v.TTL == 0 {
		*v = Server{}
	}
}

// counted is the count after a command: the one that it names, or one more or less.
func counted(named, moved uint8, rules Rules) uint8 {
	if rules.has(WantCounts) {
		return named
	}
	return moved
}
