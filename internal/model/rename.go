package model

import "math/bits"

// renumber gives the attempts of each owner that anything refers to the lowest numbers, in the order in which they were
// made. So it does not matter how many there have been.
func (s *state) renumber(all FieldSet) FieldSet {
	var to [fields]Field
	to[joes] = joes
	moved := false
	for o := range s.seats {
		first := Field(o * perOwner)
		n := Field(0)
		for f := first + 1; f <= first+perOwner; f++ {
			if all.Has(f) {
				n++
				to[f] = first + n
				moved = moved || to[f] != f
			}
		}
		s.seats[o].made = uint8(n)
	}
	if moved {
		s.rename(&to)
	}
	return all.renamed(&to)
}

// rename gives every field its new name. What was noted of a field that nothing refers to is forgotten.
func (s *state) rename(to *[fields]Field) {
	server := s.server
	s.server.Levels = [fields]uint8{}
	for f, levels := range server.Levels {
		if levels > 0 {
			s.server.Levels[to[f]] = levels
		}
	}
	for i := range s.net {
		if m := &s.net[i]; m.op != nothing {
			m.field, m.to, m.fields = to[m.field], to[m.to], m.fields.renamed(to)
		}
	}
	for i := range s.seats {
		s.seats[i].field = to[s.seats[i].field]
	}
	for i := range s.threads {
		s.threads[i].field, s.threads[i].to = to[s.threads[i].field], to[s.threads[i].to]
	}
	for i := range s.orphans {
		s.orphans[i].field = to[s.orphans[i].field]
	}
	s.force.seen = s.force.seen.renamed(to)
	s.touched, s.stray, s.revoked = s.touched.renamed(to), s.stray.renamed(to), s.revoked.renamed(to)
}

func (s FieldSet) renamed(to *[fields]Field) (set FieldSet) {
	for rest := s; rest != 0; rest &= rest - 1 {
		set |= 1 << to[bits.TrailingZeros16(uint16(rest))]
	}
	return set &^ 1
}

// sort puts the messages and the abandoned fields into an order, whichever; empty places come last.
func (s *state) sort() {
	for i := 1; i < len(s.net); i++ {
		for j := i; j > 0 && s.net[j-1].rank().isBelow(s.net[j].rank()); j-- {
			s.net[j-1], s.net[j] = s.net[j], s.net[j-1]
		}
	}
	for i := 1; i < len(s.orphans); i++ {
		for j := i; j > 0 && s.orphans[j-1].field < s.orphans[j].field; j-- {
			s.orphans[j-1], s.orphans[j] = s.orphans[j], s.orphans[j-1]
		}
	}
}

// rank is all of a message as a number.
type rank struct {
	high uint64
	low  uint32
}

func (m *message) rank() rank {
	if m.op == nothing {
		return rank{}
	}
	low := uint32(m.fields)<<16 | uint32(m.marks)<<1
	if m.again {
		low++
	}
	return rank{
		uint64(m.op)<<56 | uint64(m.who)<<48 | uint64(m.field)<<40 | uint64(m.to)<<32 |
			uint64(m.count)<<24 | uint64(m.lease)<<16 | uint64(m.age)<<8 | uint64(m.reply),
		low,
	}
}

func (r rank) isBelow(other rank) bool {
	return r.high < other.high || r.high == other.high && r.low < other.low
}
