package model_test

import "github.com/rlock-go/rlock/internal/model"

// one is a thread per owner that takes the lock once.
var (
	annOnce  = model.Thread{Owner: 0, Calls: 1, Depth: 1}
	annTwice = model.Thread{Owner: 0, Calls: 2, Depth: 1}
	bobOnce  = model.Thread{Owner: 1, Calls: 1, Depth: 1}
	annNests = model.Thread{Owner: 0, Calls: 2, Depth: 2}
	annToo   = model.Thread{Owner: 0, Calls: 1, Depth: 2} // beside another goroutine of hers

	joeOnce = model.Peer{Calls: 1, Lease: 2}
)

// alone is ann by herself.
var alone = model.Config{
	Name: "alone", Threads: []model.Thread{annOnce}, Lease: 2, Margin: 1, Cancels: 1, Timeouts: 1, Refusals: 1,
}

// nestsAlone is ann by herself, who takes the lock twice at once.
var nestsAlone = model.Config{
	Name: "nests alone", Threads: []model.Thread{annNests}, Lease: 2, Margin: 1, Cancels: 1, Timeouts: 1, Repeats: 1,
}

// plain are two owners and a rival; ann takes the lock twice. Callers give up, and commands are not answered.
var plain = model.Config{
	Name: "plain", Threads: []model.Thread{annTwice, bobOnce}, Lease: 2, Margin: 1, Joe: joeOnce, Cancels: 1, Timeouts: 1,
}

// repeats is plain on a network that delivers a request twice.
var repeats = model.Config{
	Name: "repeats", Threads: []model.Thread{annTwice, bobOnce}, Lease: 2, Margin: 1, Joe: joeOnce, Cancels: 1, Repeats: 1,
}

// deleted is plain with an operator.
var deleted = model.Config{
	Name: "deleted", Threads: []model.Thread{annTwice, bobOnce}, Lease: 2, Margin: 1, Joe: joeOnce, Cancels: 1, Deletes: 1,
}

// refused is plain with a server that refuses: it is loading, or busy.
var refused = model.Config{
	Name: "refused", Threads: []model.Thread{annOnce, bobOnce}, Lease: 2, Margin: 1, Joe: joeOnce, Timeouts: 1, Refusals: 1,
}

// drift has a server whose clock gains a tick.
var drift = model.Config{
	Name: "drift", Threads: []model.Thread{annTwice, bobOnce}, Lease: 2, Margin: 1, Drift: 1, Cancels: 1,
}

// nesting lets ann take the lock twice at once.
var nesting = model.Config{
	Name: "nesting", Threads: []model.Thread{annNests, bobOnce}, Lease: 2, Margin: 1, Cancels: 1, Timeouts: 1,
}

// nestingCancelled is a smaller one, with a rival.
var nestingCancelled = with(nesting, "nesting, cancelled", func(c *model.Config) { c.Timeouts, c.Joe = 0, joeOnce })

// goroutines are two of one owner, who nest in each other's holds, and give up waiting for each other's commands.
var goroutines = model.Config{
	Name: "goroutines", Lease: 3, Margin: 1, Timeouts: 1, Threads: []model.Thread{annNests, annToo},
}

// levels mixes watched and fixed ones, which are given back in any order, under a watchdog.
var levels = model.Config{
	Name: "levels", Lease: 3, Margin: 1, Timeouts: 1, Renewal: true, AnyOrder: true, Joe: joeOnce,
	Threads: []model.Thread{{Owner: 0, Calls: 2, Depth: 2, Outer: []model.Kind{0, 5}, Inner: []model.Kind{0, 2, 5}}},
}

// shorter are levels that ask for less than a longer one around them.
var shorter = model.Config{
	Name: "shorter", Lease: 3, Margin: 1, Joe: joeOnce,
	Threads: []model.Thread{{Owner: 0, Calls: 2, Depth: 2, Outer: []model.Kind{5}, Inner: []model.Kind{0, 2}}},
}

// renewed is a watched hold after another, with an operator.
var renewed = model.Config{
	Name: "renewed", Threads: []model.Thread{annTwice}, Lease: 3, Margin: 1, Timeouts: 1, Renewal: true, Joe: joeOnce,
	Deletes: 1,
}

// handOver lets an Unlock hand over to a waiter.
var handOver = model.Config{
	Name: "hand-over", Threads: []model.Thread{annOnce, bobOnce}, Lease: 3, Margin: 1, HandOver: true, Joe: joeOnce,
	Cancels: 1, Timeouts: 1,
}

// Smaller ones, for stories.
var (
	handOverAlone     = with(handOver, "hand-over without a rival", func(c *model.Config) { c.Joe = model.Peer{} })
	handOverCancelled = with(handOver, "hand-over, cancelled", func(c *model.Config) { c.Timeouts = 0 })
	handOverInDoubt   = with(handOverAlone, "hand-over in doubt", func(c *model.Config) { c.Cancels = 0 })
)

// handOverForced has a caller of ForceUnlock as well.
var handOverForced = with(handOver, "hand-over, forced", func(c *model.Config) {
	c.Timeouts, c.Forces, c.ForceWindow = 0, 1, 1
})

// handOverDeleted is a hand-over to one of two goroutines of an owner, with an operator.
var handOverDeleted = model.Config{
	Name: "hand-over, deleted", Threads: []model.Thread{annOnce, bobOnce, bobOnce}, Lease: 3, Margin: 1, HandOver: true,
	Deletes: 1,
}

// sleeper has a Java peer who sleeps on the TTL that he saw.
var sleeper = model.Config{
	Name: "sleeper", Lease: 2, Margin: 1, HandOver: true, Cancels: 1,
	Joe: model.Peer{Calls: 1, Lease: 2, Sleeps: true},
	Threads: []model.Thread{
		{Owner: 0, Calls: 1, Depth: 1, Outer: []model.Kind{4}}, {Owner: 1, Calls: 1, Depth: 1, Outer: []model.Kind{2}},
	},
}

// sleeperHandOver leaves nothing else to shorten the TTL.
var sleeperHandOver = with(sleeper, "sleeper, hand-over", func(c *model.Config) { c.Cancels = 0 })

// forced has a caller of ForceUnlock.
var forced = model.Config{
	Name: "forced", Threads: []model.Thread{annOnce, bobOnce}, Lease: 3, Margin: 1, Forces: 1, ForceWindow: 1,
	Joe: model.Peer{Calls: 2, Lease: 2},
}

// with changes a Config.
func with(c model.Config, name string, change func(*model.Config)) model.Config {
	c.Name = name
	change(&c)
	return c
}
