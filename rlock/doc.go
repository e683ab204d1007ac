// Package rlock offers distributed reentrant locks on Redis with the semantics and the wire format of Redisson, so that Go
// and Java processes can contend for the same lock.
//
// A [Client] makes [Lock] handles; a lock is taken by [Lock.Do] or [Lock.Acquire], or by the verbs of ported code,
// [Lock.Lock], [Lock.TryLock] and [Lock.Unlock]. The owner of a lock is what the context carries (package ownerid), else
// the calling goroutine. Who holds a lock may take it again; it is free when every level was given back.
//
// # Guarantees
//
//  1. Exclusion. On one Redis that keeps its data, two owners never hold one lock at once, as far as the leases reach.
//  2. A lost reply changes nothing, and neither does a late command: the hold count is what the caller was told.
//  3. nil means held; anything else means not held and nothing left behind.
//  4. The holder learns of a loss in time, by its own clock and without any I/O: the context of the hold ends with ErrLost
//     no later than another could get in.
//  5. No false alarm: only the server's word or the deadline ends a hold; a failed renewal is tried again until then.
//  6. Renewal lives exactly as long as the hold.
//  7. No lost wake-up: waiters sleep on pub/sub and still get their turn after reconnects, expiry, deletion or a crash.
//  8. Giving back is not cancellable, and bounded in time.
//  9. A nested acquire on a lost lock fails with ErrLost, save that an owner taken from the goroutine whose fixed lease ran
//     out starts afresh, as in Redisson.
//  10. Everything ends: after [Client.Close] no goroutine remains, and nothing per name outlives its last holder and waiter.
//  11. Java and Go share locks: same keys, fields, channels and messages.
//
// # What is not promised
//
// An asynchronous failover of Redis can lose a lock. An operator's delete, flush, forced unlock or an eviction lets the next
// one in at once, and the holder learns at its next renewal. A paused process can write after its lease: only a fencing
// token that the resource checks stops that. A request that the network delivers after its caller gave up can leave an
// unrenewed key for one lease. To share a context is to share the lock: go f(ctx) is the same owner.
package rlock
