// Package lua is what happens inside Redis: one embedded script per operation on a lock.
//
// Each script has a .lua file, whose header says what goes in and what comes out, and a Go file of the same name with the
// builder that makes a [Call] of it and the decoder that reads its reply. Nobody else knows the arguments' order, that
// Redis counts in milliseconds, or which number means what. The package sends nothing: a Call gives commands, and whoever
// has a connection sends them.
//
// Four things hold for all scripts, and the rest of rlock is built on them:
//
//   - Any of them may run twice, or late. They name the field they are about and the count it shall have, so a repeat
//     finds its work done, and a run that is too late finds the field gone.
//   - Only a script's first write can fail. An error reply means that nothing was changed.
//   - A live hold's expiry is never brought forward.
//   - That a hold is gone is said by a master only. A replica, which may lag, refuses with READONLY. "Taken" it may say: that
//     proves nothing, and who is told so asks again.
//
// What the scripts keep in Redis is Redisson's format for a plain lock: a hash under the lock's name with one field per
// hold and an expiry, and the message "0" on a channel when it is free.
package lua

import (
	"sync/atomic"
	"time"
)

// NoTTL, where a TTL is reported, means that the key is there and will not expire by itself. No script leaves a key like
// that; an operator's PERSIST does.
const NoTTL time.Duration = -1

// millis is d as Redis wants it. It rounds up: the key must live at least as long as its holder counts on.
func millis(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return max(ms, 0)
}

// lastBoxed is the newest of them. A client has one lease for most of its commands, which so costs no allocation.
var lastBoxed atomic.Pointer[boxedMillis]

type boxedMillis struct {
	ms  int64
	box any
}

// boxed is ms as go-redis takes it.
func boxed(ms int64) any {
	if last := lastBoxed.Load(); last != nil && last.ms == ms {
		return last.box
	}
	b := &boxedMillis{ms: ms, box: ms}
	lastBoxed.Store(b)
	return b.box
}

// leaseMillis is millis of a lease that is being set, for which 0 does not exist: PEXPIRE 0 would delete the key.
func leaseMillis(d time.Duration) int64 { return max(millis(d), 1) }
