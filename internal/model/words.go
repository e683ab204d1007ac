package model

import (
	"fmt"
	"strings"
)

// say puts a step into words.
func (t *teller) say(did step, before, after *state) string {
	switch did.kind {
	case asks, looks, givesUp, unlocks, unlocksAgain, unlocksLost, leavesUnlock:
		return t.sayCall(did, before, after)
	case lists, settles, recounts, renews:
		return t.sayBackground(did)
	case runs, runsTwice:
		return t.sayRun(did, after)
	case refuses, hears, timesOut, resends:
		return t.sayAnswer(did, after)
	default:
		return t.sayOthers(did, before, after)
	}
}

// sayCall is about a call of Lock or Unlock.
func (t *teller) sayCall(did step, before, after *state) string {
	who := t.caller(did.thread)
	switch did.kind {
	case asks:
		return fmt.Sprintf("%s calls Lock: %s is sent.", who, t.command(&did.msg))
	case looks:
		if did.result == saysErrLost {
			return fmt.Sprintf("%s's call of Lock ends with ErrLost.", who)
		}
		return fmt.Sprintf("%s looks again: %s is sent.", who, t.command(&did.msg))
	case givesUp:
		if before.threads[did.thread].phase == retrying {
			return fmt.Sprintf("%s's call of Lock ends with an error%s.", who, t.abandoned(did.field, after))
		}
		return fmt.Sprintf("%s's call of Lock is cancelled%s.", who, t.abandoned(did.field, after))
	case unlocks:
		return fmt.Sprintf("%s calls Unlock: %s is sent.", who, t.command(&did.msg))
	case unlocksAgain:
		return fmt.Sprintf("%s's Unlock tries again: %s is sent.", who, t.command(&did.msg))
	case unlocksLost:
		return fmt.Sprintf("%s calls Unlock, and is told ErrLost%s.", who, t.abandoned(did.field, after))
	default:
		return fmt.Sprintf("%s's Unlock ends with the transport's error%s.", who, t.abandoned(did.field, after))
	}
}

// abandoned is an addition to what somebody does.
func (t *teller) abandoned(f Field, after *state) string {
	if after.orphan(f) == nil {
		return ""
	}
	return fmt.Sprintf("; %s is left to the background", t.name(f))
}

// sayBackground is about what the process does without being called.
func (t *teller) sayBackground(did step) string {
	switch did.kind {
	case lists:
		return fmt.Sprintf("From now on %s counts as abandoned.", t.name(did.field))
	case settles:
		return fmt.Sprintf("The background gives an abandoned field back: %s is sent.", t.command(&did.msg))
	case recounts:
		return fmt.Sprintf("The background sets %s's count: %s is sent.", ownerNames[did.owner], t.command(&did.msg))
	default:
		return fmt.Sprintf("The watchdog renews: %s is sent.", t.command(&did.msg))
	}
}

// sayRun is about the server.
func (t *teller) sayRun(did step, after *state) string {
	text := fmt.Sprintf("%s runs: %s.", t.command(&did.msg), replyTexts[did.msg.reply])
	if did.msg.again {
		text = fmt.Sprintf("%s runs a second time: %s.", t.command(&did.msg), replyTexts[did.msg.reply])
	} else if did.msg.who == nobody {
		text = fmt.Sprintf("%s, for which nobody waits any more, runs: %s.", t.command(&did.msg), replyTexts[did.msg.reply])
	}
	text += fmt.Sprintf(" Redis holds %s.", t.contents(&after.server))
	if did.kind == runsTwice {
		text += " The network keeps a copy of the request."
	}
	return text
}

// sayAnswer is about who waits for a command.
func (t *teller) sayAnswer(did step, after *state) string {
	m := &did.msg
	who, command := t.waiting(m), t.command(m)
	switch did.kind {
	case timesOut:
		return fmt.Sprintf("%s waits no longer for the answer to %s%s.", who, command, t.leftBehind(m, did.result, after))
	case resends:
		return fmt.Sprintf("The transport sends %s again, for want of an answer.", command)
	default:
		return fmt.Sprintf("%s hears of %s: %s%s.", who, command, replyTexts[m.reply], t.meaning(did, after))
	}
}

// leftBehind is what follows from waiting no longer.
func (t *teller) leftBehind(m *message, r result, after *state) string {
	switch {
	case r == givenUp:
		return ", and ends with that"
	case m.who.isThread() && m.isFresh():
		return t.abandoned(m.field, after)
	default:
		return ""
	}
}

// waiting is who waits for a message.
func (t *teller) waiting(m *message) string {
	switch who := m.who; {
	case who.isThread():
		return t.caller(who.thread())
	case who.isWatchdog():
		return "The watchdog"
	case who == aForce:
		return "The operator"
	default:
		return "The background"
	}
}

func (t *teller) pronoun(thread int) string { return pronouns[t.w.Threads[thread].Owner] }

// meaning is what follows from an answer.
func (t *teller) meaning(did step, after *state) string {
	m := &did.msg
	switch did.result {
	case holds:
		if m.who.isThread() {
			return fmt.Sprintf("; %s holds the lock", t.pronoun(m.who.thread()))
		}
		return "; the hold goes on"
	case waits:
		return fmt.Sprintf("; %s waits", t.pronoun(m.who.thread()))
	case comesTooLate:
		return "; that comes too late" + t.abandoned(m.field, after)
	case isRevoked:
		return "; but the lock was unlocked by force" + t.abandoned(m.field, after)
	case saysNil:
		return "; Unlock says nil"
	case saysErrLost:
		return fmt.Sprintf("; %s is told ErrLost", t.pronoun(m.who.thread()))
	case learnsGone:
		return "; the hold is lost"
	case givenUp:
		return "; a lease has passed, so that ends it"
	case settled:
		return "; that ends it"
	default:
		return ""
	}
}

// sayOthers is about those who are not of the process, and the clock.
func (t *teller) sayOthers(did step, before, after *state) string {
	switch did.kind {
	case joeTakes:
		return fmt.Sprintf("joe, of another process, takes the lock. Redis holds %s.", t.contents(&after.server))
	case joeLeaves:
		return fmt.Sprintf("joe gives the lock back. Redis holds %s.", t.contents(&after.server))
	case joeSleeps:
		return fmt.Sprintf("joe, of another process, finds the lock taken and sleeps for its TTL of %d.", after.joe.sleep)
	case deletes:
		return "An operator deletes the key."
	case forceLooks:
		return fmt.Sprintf("A caller of ForceUnlock in the process sees %s.", t.names(did.fields))
	case forceSends:
		return fmt.Sprintf("%s is sent.", t.command(&did.msg))
	case drifts:
		return fmt.Sprintf("The server's clock gains one tick. Redis holds %s.", t.contents(&after.server))
	default:
		return t.sayTick(before, after)
	}
}

func (t *teller) sayTick(before, after *state) string {
	var text strings.Builder
	text.WriteString("A tick of time passes.")
	for o := range before.seats {
		if before.seats[o].believes() && !after.seats[o].believes() {
			fmt.Fprintf(&text, " %s's deadline is over.", ownerNames[o])
		}
	}
	if before.server.TTL > 0 && after.server.TTL == 0 {
		text.WriteString(" The key expires.")
	}
	return text.String()
}
