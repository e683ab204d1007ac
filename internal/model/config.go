package model

// Config is one bounded world to search. All times are in ticks.
type Config struct {
	Name    string
	Threads []Thread
	Lease   uint8 // the watchdog's
	Margin  uint8 // how much earlier a hold is over for its holder than its lease

	Renewal  bool // the watchdog renews
	HandOver bool // Unlock may hand over to a waiter of the process
	AnyOrder bool // levels are given back in any order, not only the newest first

	// How often the network and the callers may do what makes trouble. A request that is slow is no trouble yet: every
	// request and every answer may take any time.
	Cancels  uint8 // a caller gives up
	Timeouts uint8 // somebody stops waiting for a command, which may still run
	Repeats  uint8 // a request is delivered twice
	Refusals uint8 // a request is refused without having run

	Joe         Peer
	Deletes     uint8 // an operator deletes the key
	Forces      uint8 // a forced unlock, by a caller of the process
	ForceWindow uint8 // for how long after its look it may remove
	Drift       uint8 // ticks that the server's clock may gain

	Watch     Properties // those that are checked; 0: all
	MaxStates int        // the search gives up beyond them; 0: never
}

// Thread is a goroutine of the process that takes the lock and gives it back.
type Thread struct {
	Owner uint8  // 0 is ann, 1 is bob
	Calls uint8  // how often it calls Lock
	Depth uint8  // how many levels its owner may have; 1: it does not nest
	Outer []Kind // the leases of a first level; none: a watched one
	Inner []Kind // those of a nested one
}

// Kind is the lease of a level: a fixed one in ticks, or 0 for one that the watchdog renews.
type Kind = uint8

// Peer is a holder in another process. He has one field for ever, as a Java thread has, and a direct line.
type Peer struct {
	Calls  uint8 // how often he takes the lock
	Lease  uint8
	Sleeps bool // when the lock is taken he sleeps until its TTL has passed or somebody publishes
}

// kinds are the leases that a call may ask for.
func kinds(given []Kind) []Kind {
	if len(given) == 0 {
		return []Kind{0}
	}
	return given
}

// longest is the longest lease that anybody asks for.
func (c *Config) longest() uint8 {
	most := max(c.Lease, c.ForceWindow, c.Joe.Lease)
	for _, t := range c.Threads {
		for _, k := range append(kinds(t.Outer), kinds(t.Inner)...) {
			most = max(most, k)
		}
	}
	return most
}
