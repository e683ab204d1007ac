package model

import "unsafe"

// SearchRaw is Search without the reductions: attempts keep their numbers, and what has no effect any more is kept too.
func SearchRaw(c Config, rules Rules) Result {
	w := newWorld(c, rules)
	w.names, w.raw = true, true
	return w.search()
}

// StateBytes is how large a state is, and how large its parts are together: equal, unless there are gaps.
func StateBytes() (whole, parts uintptr) {
	var s state
	whole = unsafe.Sizeof(s)
	parts = unsafe.Sizeof(s.net) + unsafe.Sizeof(s.force) + 3*unsafe.Sizeof(s.touched) + unsafe.Sizeof(s.server) +
		unsafe.Sizeof(s.seats) + unsafe.Sizeof(s.threads) + unsafe.Sizeof(s.orphans) + unsafe.Sizeof(s.joe) +
		unsafe.Sizeof(s.left) + unsafe.Sizeof(s.broken)
	return whole, parts
}

// Joes is the rival's field.
const Joes = joes
