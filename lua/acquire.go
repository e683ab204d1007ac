package lua

import (
	_ "embed" // the script
	"slices"
	"time"
)

//go:embed acquire.lua
var acquireText string

var acquireScript = newScript("acquire", acquireText)

// Orphans are fields that their owner gave up for good: a key that only such fields keep is as good as free. Ordinarily
// there are none.
type Orphans struct {
	Channel Text // of the key's waiters, who are told when a takeover makes its TTL shorter than they saw it
	Fields  []string
}

// Acquire is the call that wants field to have want levels of the lock at key: 1 begins a hold, more nest in it. The key
// then lives at least for the lease, which is rounded up to whole milliseconds and is at least one. With want 1, a key that
// only orphans keep is taken over.
func Acquire(key, field Text, want int, lease time.Duration, orphans Orphans) Call {
	ms := boxed(leaseMillis(lease))
	if len(orphans.Fields) == 0 {
		return newCall(acquireScript, key, field, want, ms)
	}
	c := newCall(acquireScript, key, field, want, ms, orphans.Channel)
	c.fields = slices.Clone(orphans.Fields)
	return c
}

// AcquireOutcome is how an acquire ended. The zero value is none of them.
type AcquireOutcome int

const (
	// Granted: the field has the levels that were wanted.
	Granted AcquireOutcome = iota + 1
	// Taken: somebody else is in the way.
	Taken
	// Lost: there was no hold to nest in.
	Lost
)

// Acquired is the answer to [Acquire].
type Acquired struct {
	Outcome AcquireOutcome
	TTL     time.Duration // when Taken: what the key in the way has left, or [NoTTL]; else 0
}

// What the script answers instead of a PTTL, which is never below -1 for a key that is there.
const (
	replyGranted = -2
	replyLost    = -3
)

// DecodeAcquire reads the reply to [Acquire]. An error means that no acquire script gave it.
func DecodeAcquire(reply any) (Acquired, error) {
	n, err := integer(acquireScript, reply)
	switch {
	case err != nil:
		return Acquired{}, err
	case n == replyGranted:
		return Acquired{Outcome: Granted}, nil
	case n == replyLost:
		return Acquired{Outcome: Lost}, nil
	case n < replyLost:
		return Acquired{}, unexpected(acquireScript, reply)
	}
	return Acquired{Outcome: Taken, TTL: duration(n)}, nil
}
