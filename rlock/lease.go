package rlock

import "time"

// margin is how much earlier than its lease a hold is over for its holder, so that a clock that runs fast on the server
// and a holder that needs a moment to stop do no harm: a tenth, within 50 ms and 1 s, but never more than a third.
func margin(lease time.Duration) time.Duration {
	return min(max(lease/10, 50*time.Millisecond), time.Second, lease/3)
}

// askLocked notes a lease that a command is about to name. Renewals are not noted: they never ask for more than the watchdog's.
func (t *tenure) askLocked(lease time.Duration) {
	t.stands = max(t.stands, t.c.set.now()+lease)
}

// confirmLocked takes a confirmed command for proof. A command that named no lease proves none.
func (t *tenure) confirmLocked(sent, lease time.Duration) {
	t.confirmed.Store(int64(max(sent, time.Duration(t.confirmed.Load()))))
	if lease <= 0 {
		return
	}
	t.proven = max(t.proven, sent+lease)
	if until := int64(sent + lease - margin(lease)); until > t.deadline.Load() {
		t.deadline.Store(until)
	}
}

// answeredLocked takes the answer to a command for proof, after the clock had its say: a hold that its holder may have seen
// to be over stays over, whatever an answer proves that came too late for it. Else Held could be true again after it was
// false, and ValidUntil lie ahead after the hold was reported lost.
func (t *tenure) answeredLocked(sent, lease time.Duration) telling {
	tell := t.checkLocked(t.c.set.now())
	if t.ended == nil {
		t.confirmLocked(sent, lease)
	}
	return tell
}

func (t *tenure) until() time.Duration { return time.Duration(t.deadline.Load()) }

// nestedLeaseLocked is the lease that a nested acquire names. While a level is renewed it is the watchdog's, so that a long
// lease of an inner level does not outlive a crash; what a fixed level still needs is asked for when the last renewed one
// is given back.
func (t *tenure) nestedLeaseLocked(r *request) time.Duration {
	if t.renewedLocked() || t.raiseLocked(t.c.set.now()) > 0 {
		return t.c.set.watchdog
	}
	return r.grant(t.c.set.watchdog)
}

// named is the lease that a command names when ask is what it is sent for: no less than what is proven already. On the key as
// commands left it that changes nothing. But an operator's PERSIST takes the expiry away, and the next command sets the one
// that it names: were that less than a former one proved, the key would end under a holder who counts on it.
func (t *tenure) named(ask time.Duration) time.Duration {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	return max(ask, t.proven-t.c.set.now())
}

// renewalLeaseLocked is the lease that a renewal names now: the watchdog's, but no more than the longest of the levels
// needs. 0 means that there is nothing to extend, only to look.
func (t *tenure) renewalLeaseLocked(now time.Duration) time.Duration {
	if !t.renewedLocked() {
		return t.raiseLocked(now)
	}
	var need time.Duration
	for _, h := range t.levels {
		need = max(need, h.need(now))
	}
	return min(need, t.c.set.watchdog).Truncate(time.Millisecond)
}

// raiseLocked is the lease that the fixed levels still need beyond what is proven, once no level is renewed any more: the
// release of the last renewed one asks for it, and every renewal after that until it is confirmed. Else 0. A lease is cut
// to whole milliseconds, so one may be missing.
func (t *tenure) raiseLocked(now time.Duration) time.Duration {
	until := t.fixedUntilLocked()
	if t.renewedLocked() || until <= t.proven+time.Millisecond {
		return 0
	}
	return max(until-now, 0).Truncate(time.Millisecond)
}

func (t *tenure) fixedUntilLocked() (until time.Duration) {
	for _, h := range t.levels {
		until = max(until, h.fixedUntil)
	}
	return until
}

func (t *tenure) maxUntilLocked() (until time.Duration) {
	for _, h := range t.levels {
		until = max(until, h.maxUntil)
	}
	return until
}
