// Package model is the protocol of the lock as an explicit-state model: a search through everything that can happen, in a
// small world, when callers, a network, a server and an operator do their worst. It shows two things. With all rules of the
// protocol no promise breaks, in worlds that are searched to the end. And without any one of their clauses a promise breaks,
// in a number of steps that is the least possible: the story of that is in testdata/stories, one file for each clause, to be
// read by whoever wonders what the clause is for.
//
// # What is modelled
//
// One process with two owners, ann and bob, and if wanted two goroutines of one of them; a rival, joe, in another process,
// who has one field for ever, as a Java thread has; an operator who deletes the key; a caller of ForceUnlock. A call of Lock
// sends an acquire, waits, looks again, takes a new field after an attempt in doubt, nests, and may be cancelled at any point;
// Unlock sends a release or hands over, tries again, and in the end leaves the rest to the background, which settles what was
// abandoned and sets counts that are in doubt. The watchdog renews. A request may take any time, be delivered twice, be
// refused, or run when its caller has long left; an answer may take any time, too, or never come. How often that becomes
// trouble is bounded by a [Config], and so is how often the lock is taken; all orders are tried.
//
// Time goes by in ticks, and all times are small numbers of ticks that remain: leases, deadlines, how long ago a command was
// sent. A tick may come at any point. So a deadline is never earlier or later than an expiry because somebody said so, but
// because the rules make it.
//
// The server is [Server], whose methods are the Lua scripts: random commands on random states are given to both, on the
// embedded and on a real Redis, and must have the same answers, fields, TTL and messages. The decisions of the engine (which
// answer Unlock gives, when settling ends, what a command proves) are written here a second time. To share them would tear
// functions of three lines out of the engine, where they are read together with what they are about.
//
// # What is not
//
// Refusals for want of memory or rights, key names, clusters, failover and lost data (rules 7, 8), read-write, fair and fenced
// locks, owners of several processes (15, 17 to 20), MaxHold, Extend, Close, an owner that starts afresh. Wake-ups, save one:
// a Java waiter sleeps on the TTL that it saw. The line of the waiters: any of them may look at any time, which is
// more than the engine does. The retry budget: every repetition may be the last. That an answer is late enough to be
// worthless counts as trouble, like no answer at all; else time could stand still for no attempt ever to succeed.
//
// What no protocol can promise is left out of the promises: what follows from an operator's delete; a field that a repeated
// request lets stand, or one that comes more than a lease after it was sent, for as long as its lease.
//
// # How to read a story
//
// Each line is one step: somebody sends, the server runs a request, somebody hears an answer, a tick passes. ann~2 is the field
// of ann's second attempt. "lease 3" and "TTL 3" are ticks; "remain 0" releases; "given up: ann~1" are the abandoned fields that
// an acquire names. The last lines say which promise is broken and what Redis holds.
//
// # How to add a rule
//
// Name its clause in rules.go and say it in clauses.go; ask for it where it matters, with w.rules.has, and do the other thing
// there when it is taken out. If no [Property] says what breaks then, add one. Then a line in stories_test.go, and
// go test -update, and read the story: one that is silly means that the model does more without the clause than somebody
// who had forgotten it would.
//
// A search holds the fingerprints of all states and two layers of states in memory: about 40 bytes a state, and 200 more for
// each state of the two layers.
package model
