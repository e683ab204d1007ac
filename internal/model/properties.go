package model

// Property is a promise that holds in every state.
type Property uint16

// The promises.
const (
	OneHolder        Property = iota + 1 // no two owners believe that they hold the lock
	FieldStands                          // who believes that he holds has his field in Redis
	LeaseStands                          // the TTL reaches at least as far as his deadline
	CountIsTold                          // Redis counts the levels that the owner was told, if no command is in doubt
	NoLateTouch                          // no command of an earlier hold changes a later one
	NothingForgotten                     // a field in Redis is held, awaited or being settled
	NoWaitForOwn                         // a key that only abandoned fields keep is free for its process
	HonestUnlock                         // nil: held until then; ErrLost: not this Unlock has released it
	NilIsHeld                            // who is told that he holds the lock does
	NoFalseAlarm                         // nobody is told of a loss while a confirmed command proves the hold
	OverIsOver                           // a hold that was seen to be over does not go on
	LossIsTaken                          // who is told that his field is gone believes it
	CrashIsShort                         // a hold that is watched outlives a crash by the watchdog's lease at most
	LeaseIsAskedFor                      // a fixed lease is proven, or somebody is asking for it
	SleeperWakes                         // who sleeps on the TTL that he saw sleeps no longer than the lock is held
	AllEnds                              // where nothing can happen any more, nothing is left
	numProperties
)

var propertyTexts = [numProperties]string{
	0:                "nothing is broken",
	OneHolder:        "two owners believe that they hold the lock",
	FieldStands:      "an owner believes that he holds the lock, and his field is not in Redis",
	LeaseStands:      "an owner counts on the lock for longer than its key stands in Redis",
	CountIsTold:      "Redis counts other levels than the owner was told, with no command in doubt",
	NoLateTouch:      "a command of an earlier hold has changed a later hold",
	NothingForgotten: "a field stands in Redis that nobody holds, waits for or gives back",
	NoWaitForOwn:     "a process has to wait for a field that it has abandoned itself",
	HonestUnlock:     "the answer of Unlock is wrong",
	NilIsHeld:        "an owner is told that he holds the lock, and does not",
	NoFalseAlarm:     "an owner is told of a loss, and holds the lock",
	OverIsOver:       "a hold that was over goes on",
	LossIsTaken:      "an owner was told that his field is gone, and believes that he holds the lock",
	CrashIsShort:     "the lock would outlive a crash by more than the watchdog's lease",
	LeaseIsAskedFor:  "a fixed lease is not proven, and nobody asks for it",
	SleeperWakes:     "a waiter sleeps longer than the lock is held",
	AllEnds:          "nothing can happen any more, and something is left",
}

// String says what it means that the property is broken.
func (p Property) String() string { return propertyTexts[p] }

// Properties is a set of them.
type Properties uint32

// Only is the set of these properties.
func Only(all ...Property) Properties {
	var s Properties
	for _, p := range all {
		s |= 1 << p
	}
	return s
}

func (s Properties) has(p Property) bool { return s&(1<<p) != 0 }
