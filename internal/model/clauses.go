package model

// ruleTexts are the rule or promise that each clause is of, its words, and what is done without it.
var ruleTexts = [numRules]struct{ of, says, without string }{
	FieldPerAttempt: {
		"1", "a field belongs to one attempt",
		"the field is the owner's, the same for every attempt",
	},
	NewFieldAfterUnknown: {
		"1", "a retry after an unknown outcome takes a new field",
		"a retry keeps the field whatever became of the attempt before",
	},
	CarryAbandoned: {
		"2", "an acquire names the abandoned fields, which count as free",
		"it names none",
	},
	CarryForEveryOwner: {
		"2", "the abandoned fields of every owner of the Client are named",
		"those of its own owner alone are named",
	},
	AbandonBeforeReturn: {
		"2", "a field is abandoned before its caller returns",
		"it is abandoned some time later",
	},
	WantCounts: {
		"3", "acquire and release name the count they want",
		"they add one and subtract one",
	},
	NestedNeverTakesAnew: {
		"3", "a nested acquire that finds no field is lost, whoever has the key",
		"it takes a key that is free",
	},
	OneCommandAtATime: {
		"3", "the commands of one owner are sent one after the other",
		"they overlap",
	},
	GivenBackIsNotLost: {
		"3", "that the field is gone is no loss once the owner has given the tenure back",
		"it is a loss",
	},
	UnknownIsNotRefused: {
		"4", "a command without an answer may have run, or may still run",
		"an acquire without an answer is taken for refused",
	},
	NoResend: {
		"4", "the transport sends each command once",
		"it sends again by itself, and its caller does not learn of it",
	},
	LossIsTold: {
		"5", "Unlock says ErrLost once the deadline has passed",
		"it says what the server says",
	},
	NilAfterDoubt: {
		"5", "after an attempt in doubt \"not held\" is nil",
		"it is ErrNotHeld, whatever went before",
	},
	NotHeldIsLoss: {
		"5", "without an attempt in doubt \"not held\" is ErrNotHeld",
		"it is nil, whatever went before",
	},
	GiveBackLost: {
		"5", "what may still stand of a lost hold is given back",
		"nothing is done about it",
	},
	DoubtInTime: {
		"5", "an attempt in doubt counts only if it was sent before the deadline",
		"it counts whenever it was sent",
	},
	BeyondNotHeld: {
		"6", "while the acquire is in doubt, \"not held\" does not end settling",
		"the first \"not held\" ends it",
	},
	SettleAgain: {
		"6", "a release without an answer does not end settling",
		"it does",
	},
	DoubtAsOfSending: {
		"6", "whether the acquire was in doubt is judged when the release is sent",
		"it is judged when its answer arrives",
	},
	LatestProof: {
		"9", "the deadline is the latest that a confirmed command proves",
		"it is what the last confirmed command proves",
	},
	StampBeforeSending: {
		"9", "a lease counts from before its command is sent",
		"it counts from the answer",
	},
	LateAnswerIsNoGrant: {
		"9", "an answer that comes after its own deadline is no grant",
		"it is a grant",
	},
	OverStaysOver: {
		"9", "a hold whose deadline has passed is over, whatever is answered later",
		"an answer that comes later revives it",
	},
	Margin: {
		"9", "the deadline is a margin earlier than the lease",
		"it is the end of the lease, although the server's clock may be a little fast",
	},
	NeverShorten: {
		"10", "no command shortens the TTL of a live hold",
		"acquire and renew set the TTL to their lease",
	},
	InnerReleaseKeepsTTL: {
		"10", "an inner release does not shorten the TTL",
		"it sets the TTL to its lease",
	},
	WatchdogsLeaseWhileWatched: {
		"10", "while a level is watched, the watchdog's lease is sent",
		"an inner level asks for its own lease",
	},
	RaiseAtLastWatched: {
		"10", "with the last watched level goes the raise to what the fixed levels have left",
		"nobody asks for that",
	},
	RenewUntilRaised: {
		"10", "renewal goes on until the raise is confirmed",
		"only the release asks for the raise",
	},
	RenewOnlyItsField: {
		"11", "a renewal touches only a key that has its field",
		"it extends the key, whoever has it",
	},
	IgnoreAnswersAfterEnd: {
		"11", "the answer to a renewal of a hold that has ended is ignored",
		"it counts for whatever hold there is",
	},
	GoneIsLoss: {
		"11", "that the field is gone is a loss, at once",
		"it is taken for a renewal that failed",
	},
	HandOverSetsTTL: {
		"12", "a hand-over sets the TTL to the waiter's lease",
		"it leaves the TTL as it is",
	},
	HandOverRepeats: {
		"12", "a hand-over that finds its work done says so",
		"it says that the field is not there",
	},
	HandOverRepeatRaises: {
		"12", "a repeated hand-over raises the TTL to its lease",
		"it leaves the TTL as it is",
	},
	OnlyParked: {
		"13", "a hand-over grants a parked wait, which does not look until that is decided",
		"the waiter goes on looking with its field",
	},
	LeaverAbandons: {
		"13", "a named waiter that leaves abandons the field that it was named with",
		"it does nothing",
	},
	NamedHoldsTurn: {
		"13", "while a hand-over names a waiter, no other command of its owner is sent",
		"other goroutines of the owner go on asking",
	},
	SettleBothFields: {
		"13", "after a hand-over in doubt both fields are settled",
		"only the releaser's is",
	},
	TellSleepers: {
		"14", "a command that shortens the TTL publishes",
		"it tells nobody",
	},
	ForceFieldsSeen: {
		"16", "a forced unlock removes the fields that were seen",
		"it deletes the key",
	},
	ForceInTime: {
		"16", "a forced unlock that comes too late does nothing",
		"it may come at any time",
	},
	ForceTellsFirst: {
		"16", "a forced unlock first tells the holders of its own process",
		"it tells nobody",
	},
	ForceRefusesGrants: {
		"16", "a forced unlock refuses its own process's grants under way",
		"a grant under way is accepted",
	},
	EndBeforeSending: {
		"P6", "Unlock ends the hold before it sends anything",
		"the hold goes on until the answer",
	},
}
