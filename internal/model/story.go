package model

import (
	"fmt"
	"strings"
)

// step is what was done from one state to the next.
type step struct {
	kind   stepKind
	thread int
	owner  uint8
	field  Field
	fields FieldSet
	msg    message // that was sent, ran or was heard
	result result  // for whoever heard it
}

type stepKind uint8

const (
	_ stepKind = iota
	asks
	looks
	givesUp
	unlocks
	unlocksAgain
	unlocksLost
	leavesUnlock
	lists
	settles
	recounts
	renews
	runs
	runsTwice
	refuses
	hears
	timesOut
	resends
	joeTakes
	joeLeaves
	joeSleeps
	deletes
	forceLooks
	forceSends
	ticks
	drifts
)

// result is what somebody makes of an answer.
type result uint8

const (
	_ result = iota
	holds
	waits
	goesOn
	comesTooLate
	isRevoked
	saysNil
	saysErrLost
	learnsGone
	settled
	givenUp
	ignored
)

// teller writes a story.
type teller struct {
	w     *world
	text  strings.Builder
	count int
}

func newTeller(w *world) *teller {
	t := &teller{w: w}
	t.text.WriteString(w.rules.heading())
	fmt.Fprintf(&t.text, "\n")
	return t
}

// add tells one step.
func (t *teller) add(did step, before, after *state) {
	t.count++
	fmt.Fprintf(&t.text, "%2d. %s\n", t.count, t.say(did, before, after))
}

// end closes the story with what is broken.
func (t *teller) end(s *state, broken Property) string {
	fmt.Fprintf(&t.text, "\nSo %v", broken)
	if who := t.believers(s); who != "" {
		fmt.Fprintf(&t.text, ": %s", who)
	}
	fmt.Fprintf(&t.text, ".\nRedis holds %s.\n", t.contents(&s.server))
	return t.text.String()
}

// believers are those who think that they hold the lock.
func (t *teller) believers(s *state) string {
	var all []string
	for o := range s.seats {
		if at := &s.seats[o]; at.believes() {
			all = append(all, fmt.Sprintf(
				"%s believes that %s holds it as %s for %d more", ownerNames[o], pronouns[o], t.name(at.field), at.deadline))
		}
	}
	if s.joe.hold > 0 {
		all = append(all, fmt.Sprintf("joe believes that he holds it for %d more", s.joe.hold))
	}
	return strings.Join(all, ", ")
}

func (t *teller) contents(v *Server) string {
	if v.TTL == 0 {
		return "nothing"
	}
	var all []string
	for f, levels := range v.Levels {
		if levels > 0 {
			all = append(all, fmt.Sprintf("%s = %d", t.name(Field(f)), levels))
		}
	}
	return fmt.Sprintf("%s, TTL %d", strings.Join(all, ", "), v.TTL)
}

var (
	ownerNames = [owners]string{"ann", "bob"}
	pronouns   = [owners]string{"she", "he"}
)

// name is a field as Redis shows it.
func (t *teller) name(f Field) string {
	switch {
	case f == joes:
		return "joe"
	case !t.w.rules.has(FieldPerAttempt):
		return ownerNames[ownerOf(f)]
	default:
		return fmt.Sprintf("%s~%d", ownerNames[ownerOf(f)], (f-1)%perOwner+1)
	}
}

func (t *teller) names(set FieldSet) string {
	var all []string
	for f := range Field(fields) {
		if set.Has(f) {
			all = append(all, t.name(f))
		}
	}
	return strings.Join(all, ", ")
}

// caller is a thread by name.
func (t *teller) caller(thread int) string {
	name := ownerNames[t.w.Threads[thread].Owner]
	for _, earlier := range t.w.Threads[:thread] {
		if earlier.Owner == t.w.Threads[thread].Owner {
			return name + "'s second goroutine"
		}
	}
	return name
}

// command is a request in words.
func (t *teller) command(m *message) string {
	switch m.op {
	case acquire:
		text := fmt.Sprintf("acquire(%s, want %d, lease %d", t.name(m.field), m.count, m.lease)
		if m.fields != 0 {
			text += ", given up: " + t.names(m.fields)
		}
		return text + ")"
	case release:
		text := fmt.Sprintf("release(%s, remain %d", t.name(m.field), m.count)
		if m.lease > 0 {
			text += fmt.Sprintf(", raise to %d", m.lease)
		}
		return text + ")"
	case renew:
		return fmt.Sprintf("renew(%s, lease %d)", t.name(m.field), m.lease)
	case handOver:
		return fmt.Sprintf("handover(%s to %s, lease %d)", t.name(m.field), t.name(m.to), m.lease)
	default:
		return fmt.Sprintf("force(%s, within %d)", t.names(m.fields), m.lease)
	}
}

var replyTexts = [...]string{
	Granted: "granted", Taken: "taken", Lost: "lost", NotHeld: "not held", Kept: "kept", Freed: "freed", Held: "held",
	Gone: "not held", Removed: "removed", Nothing: "nothing to remove", Handed: "handed over", Neither: "neither field is there",
	refused: "refused, it did not run",
}
