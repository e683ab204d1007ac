package lua

import (
	"fmt"
	"math"
	"time"
)

// integer is the reply of a script that answers with a number, which is all of them save read.
func integer(s *script, reply any) (int64, error) {
	n, ok := reply.(int64)
	if !ok {
		return 0, unexpected(s, reply)
	}
	return n, nil
}

// yesOrNo is the reply of a script that answers 1 or 0.
func yesOrNo(s *script, reply any) (bool, error) {
	n, err := integer(s, reply)
	if err != nil {
		return false, err
	}
	if n != 0 && n != 1 {
		return false, unexpected(s, reply)
	}
	return n == 1, nil
}

// unexpected is about a reply that the script cannot have given: another script's, or something between here and Redis
// that rewrites replies.
func unexpected(s *script, reply any) error {
	return fmt.Errorf("lua: %s: unexpected reply %v (%T)", s.name, reply, reply)
}

// longest is the most that a TTL is said to be, a good hundred years: Redis can keep a key for longer than a Duration can tell,
// and one that wraps around would send a waiter to sleep for no time at all. It leaves room for adding to it.
const longest = math.MaxInt64 / 2 * time.Nanosecond

// duration is a PTTL, -1 included.
func duration(pttl int64) time.Duration {
	if pttl == -1 {
		return NoTTL
	}
	return time.Duration(min(pttl, int64(longest/time.Millisecond))) * time.Millisecond
}
