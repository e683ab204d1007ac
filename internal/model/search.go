package model

import "hash/maphash"

// Result is what a search has found.
type Result struct {
	Config   string
	States   int      // that were reached
	Depth    int      // of the deepest of them, in steps
	Complete bool     // every state was reached that there is; else the search was cut off, or ended by what it found
	Broken   Property // 0: nothing
	Story    string   // how it came to that, if anything is broken
	Steps    int      // of the story
}

// Search goes through the states of a Config breadth first, so that the story of what it finds is as short as any.
//
// A state is known by a fingerprint of 64 bits. That two of n states share one, so that the second is passed over, has odds
// of about n²/2⁶⁵: one in a million for six million states, one in ten thousand for sixty.
func Search(c Config, rules Rules) Result {
	w := newWorld(c, rules)
	w.names = rules != AllRules // something will break, and that is to be told
	found := w.search()
	if found.Broken != 0 && !w.names {
		w = newWorld(c, rules) // once more, with attempts that keep their numbers
		w.names = true
		return w.search()
	}
	return found
}

// search is one search.
func (w *world) search() Result {
	h := hunt{w: w, seed: maphash.MakeSeed(), known: newPrints()}
	w.emit = h.reach
	start := w.start()
	h.reach(step{}, &start)
	depth := 0
	for h.broken == 0 && len(h.next) > 0 && !h.full() {
		h.level, h.next = h.next, h.level[:0]
		depth++
		h.expandLevel()
	}
	r := Result{
		Config: w.Name, States: h.known.len(), Depth: depth - 1, Broken: h.broken,
		Complete: h.broken == 0 && len(h.next) == 0,
	}
	if h.broken != 0 {
		r.Steps, r.Story = h.tell()
	}
	return r
}

// hunt is the state of a search: the states of one depth, and what they lead to.
type hunt struct {
	w           *world
	seed        maphash.Seed
	known       *prints
	level, next []found
	parent      uint32 // of what is being emitted
	broken      Property
	last        uint32 // where that was found
}

// found is a state and its number.
type found struct {
	state  state
	number uint32
}

func (h *hunt) full() bool { return h.w.MaxStates > 0 && h.known.len() >= h.w.MaxStates }

func (h *hunt) expandLevel() {
	for i := range h.level {
		f := &h.level[i]
		h.parent, h.w.emitted = f.number, 0
		h.w.expand(&f.state)
		if h.w.emitted == 0 {
			h.find(h.w.checkEnd(&f.state), f.number)
		}
		if h.broken != 0 || h.full() {
			return
		}
	}
}

// reach takes a state that a step led to.
func (h *hunt) reach(_ step, s *state) {
	number, fresh := h.known.add(h.print(s), h.parent)
	if !fresh {
		return
	}
	h.next = append(h.next, found{*s, number})
	h.find(h.w.check(s), number)
}

// print is the fingerprint of a state; 0 is none.
func (h *hunt) print(s *state) uint64 { return max(maphash.Comparable(h.seed, *s), 1) }

// find keeps the first thing that is broken.
func (h *hunt) find(p Property, number uint32) {
	if h.broken == 0 && p != 0 {
		h.broken, h.last = p, number
	}
}

// tell repeats the steps that led to what was found.
func (h *hunt) tell() (steps int, story string) {
	path := h.known.path(h.last)
	s := h.w.start()
	teller := newTeller(h.w)
	for _, mark := range path[1:] {
		s = h.follow(s, mark, teller)
		steps++
	}
	return steps, teller.end(&s, h.broken)
}

// follow finds the step from s to the state with that fingerprint.
func (h *hunt) follow(s state, mark uint64, teller *teller) state {
	var after state
	taken := false
	h.w.emit = func(did step, next *state) {
		if !taken && h.print(next) == mark {
			taken, after = true, *next
			teller.add(did, &s, next)
		}
	}
	h.w.expand(&s)
	return after
}
