package rlock

import (
	"errors"
	"fmt"
	"time"
)

// AcquireOption is a setting of one acquire: a plain value, so that an acquire with options allocates no more than one
// without. The zero value is none.
type AcquireOption struct {
	kind acquireOptionKind
	d    time.Duration
}

type acquireOptionKind int

const (
	optWait acquireOptionKind = iota + 1
	optLease
	optMaxHold
)

// Wait bounds how long the acquire waits for another holder, from the call on. Wait(0) waits for nobody. Without it Lock,
// Acquire and Do wait for as long as their context allows, TryLock and TryAcquire do not wait.
func Wait(d time.Duration) AcquireOption { return AcquireOption{optWait, d} }

// Lease fixes the lease: the hold ends when it is over, and the watchdog does not renew it. The holder's context ends a
// little earlier than the lease does in Redis: by a tenth of it, at least 50 ms and at most 1 s, but no more than a third.
// Whole milliseconds count. Within a hold that is renewed, the lease of an inner level matters only once the outer,
// renewed levels were given back.
func Lease(d time.Duration) AcquireOption { return AcquireOption{optLease, d} }

// MaxHold lets the watchdog renew the hold, but for no longer than d in all. The holder's context ends with ErrMaxHold a
// little before d has passed, by the margin that Lease describes, and the lock is free when d has passed, unless another
// level of the same owner still holds it.
func MaxHold(d time.Duration) AcquireOption { return AcquireOption{optMaxHold, d} }

// request is what the options of one acquire add up to.
type request struct {
	op      string        // the verb, for errors
	waits   bool          // waits for a holder
	wait    time.Duration // how long at most; 0: as long as the context allows
	lease   time.Duration // the fixed lease; 0: renewed by the watchdog
	maxHold time.Duration // 0: no limit
	handle  bool          // the level is given back by its Hold, not by Unlock
}

func newRequest(op string, waits, handle bool, opts []AcquireOption) (request, error) {
	r := request{op: op, waits: waits, handle: handle}
	for _, opt := range opts {
		if err := r.apply(opt); err != nil {
			return r, err
		}
	}
	if r.lease > 0 && r.maxHold > 0 {
		return r, errors.New("options Lease and MaxHold exclude each other: a fixed lease is not renewed")
	}
	return r, nil
}

func (r *request) apply(opt AcquireOption) error {
	switch opt.kind {
	case optWait:
		r.waits, r.wait = opt.d > 0, opt.d
		if opt.d < 0 {
			return fmt.Errorf("option Wait: %v is negative", opt.d)
		}
		return nil
	case optLease:
		r.lease = opt.d.Truncate(time.Millisecond)
		return judgeLease("option Lease", opt.d)
	case optMaxHold:
		r.maxHold = opt.d.Truncate(time.Millisecond)
		return judgeLease("option MaxHold", opt.d)
	default:
		return errors.New("an AcquireOption is zero: make it by Wait, Lease or MaxHold")
	}
}

// grant is the lease that the first command of a hold asks for.
func (r *request) grant(watchdog time.Duration) time.Duration {
	switch {
	case r.lease > 0:
		return r.lease
	case r.maxHold > 0:
		return min(watchdog, r.maxHold)
	default:
		return watchdog
	}
}
