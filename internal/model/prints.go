package model

import "slices"

// prints are the fingerprints of the states that are known. States have numbers, from 0 in the order of discovery; each
// comes with the number of the state that led to it. A map would need three times the memory.
type prints struct {
	table    []uint64 // a hash table of all fingerprints; 0: empty. Its length is a power of two, and it is at most half full.
	byNumber []uint64
	parent   []uint32
}

func newPrints() *prints { return &prints{table: make([]uint64, 1<<12)} }

func (p *prints) len() int { return len(p.byNumber) }

// add notes a state and gives it a number, unless it is known.
func (p *prints) add(mark uint64, parent uint32) (number uint32, fresh bool) {
	if 2*len(p.byNumber) >= len(p.table) {
		p.grow()
	}
	place := p.place(mark)
	if *place == mark {
		return 0, false
	}
	*place = mark
	number = uint32(len(p.byNumber)) //nolint:gosec // four thousand million states do not fit into memory
	p.byNumber, p.parent = append(p.byNumber, mark), append(p.parent, parent)
	return number, true
}

// place is where a fingerprint stands in the table, or would.
func (p *prints) place(mark uint64) *uint64 {
	mask := uint64(len(p.table)) - 1
	for at := mark & mask; ; at = (at + 1) & mask {
		if p.table[at] == 0 || p.table[at] == mark {
			return &p.table[at]
		}
	}
}

func (p *prints) grow() {
	p.table = make([]uint64, 2*len(p.table))
	for _, mark := range p.byNumber {
		*p.place(mark) = mark
	}
}

// path is the way from the first state to that one, by fingerprints.
func (p *prints) path(number uint32) []uint64 {
	way := []uint64{p.byNumber[number]}
	for number != 0 {
		number = p.parent[number]
		way = append(way, p.byNumber[number])
	}
	slices.Reverse(way)
	return way
}
