package model

import (
	"fmt"
	"strings"
)

// Rule is one clause of the protocol that can be taken out.
type Rule uint8

// The clauses, in the order of the protocol. The comment says what is done in place of each when it is taken out.
const (
	FieldPerAttempt            Rule = iota // the field is the owner's, the same for every attempt
	NewFieldAfterUnknown                   // a retry keeps the field whatever became of the attempt before
	CarryAbandoned                         // an acquire does not name the abandoned fields
	CarryForEveryOwner                     // it names those of its own owner alone
	AbandonBeforeReturn                    // a field is abandoned some time after its caller has returned
	WantCounts                             // acquire and release add and subtract one
	NestedNeverTakesAnew                   // a nested acquire takes a free lock
	OneCommandAtATime                      // commands of one owner overlap
	GivenBackIsNotLost                     // that the field is gone is a loss of a tenure that was given back, too
	UnknownIsNotRefused                    // an acquire without an answer is taken for one that was refused
	NoResend                               // the transport itself sends a command again
	LossIsTold                             // Unlock asks the server although the hold's deadline has passed
	NilAfterDoubt                          // "not held" is ErrNotHeld, whatever went before
	NotHeldIsLoss                          // "not held" is nil, whatever went before
	GiveBackLost                           // nothing is done about a field whose hold is lost
	DoubtInTime                            // an attempt in doubt counts whenever it was sent
	BeyondNotHeld                          // settling ends with the first "not held"
	SettleAgain                            // a release without an answer ends settling
	DoubtAsOfSending                       // whether "not held" ends it is judged when it arrives
	LatestProof                            // the deadline is what the last confirmed command proves
	StampBeforeSending                     // a lease is counted from the answer
	LateAnswerIsNoGrant                    // an answer that comes after its own deadline is a grant
	OverStaysOver                          // an answer that comes after the deadline revives the hold
	Margin                                 // the hold lasts as long as its lease
	NeverShorten                           // every command sets the TTL to its lease
	InnerReleaseKeepsTTL                   // an inner release sets the TTL to its lease
	WatchdogsLeaseWhileWatched             // an inner level asks for its own lease
	RaiseAtLastWatched                     // nobody asks for what the fixed levels have left
	RenewUntilRaised                       // the raise is asked for once, by the release
	RenewOnlyItsField                      // a renewal extends the key, whoever has it
	IgnoreAnswersAfterEnd                  // the answer to a renewal is about whatever hold there is
	GoneIsLoss                             // that the field is gone is taken for a failed renewal
	HandOverSetsTTL                        // it leaves the TTL as the releaser had it
	HandOverRepeats                        // a hand-over that finds its work done says that it was too late
	HandOverRepeatRaises                   // it says that all is well and leaves the TTL
	OnlyParked                             // a waiter that a hand-over names goes on looking for itself
	LeaverAbandons                         // a named waiter that leaves thinks of nothing
	NamedHoldsTurn                         // other commands of a named waiter's owner are sent meanwhile
	SettleBothFields                       // after a hand-over in doubt only the releaser's field is settled
	TellSleepers                           // a command that shortens the TTL tells nobody
	ForceFieldsSeen                        // a forced unlock deletes the key
	ForceInTime                            // a forced unlock may come at any time
	ForceTellsFirst                        // the holders of its own process are not told
	ForceRefusesGrants                     // a grant under way is accepted after the forced unlock
	EndBeforeSending                       // the hold goes on until Unlock is answered
	numRules
)

// Of is the rule that the clause is a part of, or the promise that it comes from.
func (r Rule) Of() string {
	if promise, ok := strings.CutPrefix(ruleTexts[r].of, "P"); ok {
		return "promise " + promise
	}
	return "rule " + ruleTexts[r].of
}

// String is the clause in words.
func (r Rule) String() string { return ruleTexts[r].says }

// Rules is a set of clauses.
type Rules uint64

// AllRules is the protocol.
const AllRules Rules = 1<<numRules - 1

// EveryRule lists the clauses.
func EveryRule() []Rule {
	all := make([]Rule, numRules)
	for r := range numRules {
		all[r] = r
	}
	return all
}

// Without is the set with one clause taken out.
func (s Rules) Without(r Rule) Rules { return s &^ (1 << r) }

// has reports whether the clause is kept.
func (s Rules) has(r Rule) bool { return s&(1<<r) != 0 }

// heading says which clauses are taken out.
func (s Rules) heading() string {
	var text strings.Builder
	for _, r := range EveryRule() {
		if !s.has(r) {
			fmt.Fprintf(&text, "Without %s (%v): %s.\n", r.Of(), r, ruleTexts[r].without)
		}
	}
	if text.Len() == 0 {
		return "With all rules.\n"
	}
	return text.String()
}
