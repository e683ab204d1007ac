package lua

import (
	_ "embed" // the script
	"time"
)

//go:embed handover.lua
var handOverText string

var handOverScript = newScript("handover", handOverText)

// HandOver is the call that ends the hold of the field from and begins one of the field to, with one level and that lease,
// which is rounded up to whole milliseconds and is at least one. To who waited it is an acquire, and [DecodeAcquire] reads its
// reply: Granted, or Lost if there was nothing to take over; to who held the lock it is a release, see [DecodeHandOver].
func HandOver(key, channel, from, to Text, lease time.Duration) Call {
	return newCall(handOverScript, key, channel, from, to, boxed(leaseMillis(lease)))
}

// DecodeHandOver reads the reply to [HandOver] as that to a release: Kept, for the other's field keeps the key, or NotHeld.
func DecodeHandOver(reply any) (ReleaseOutcome, error) {
	switch n, err := integer(handOverScript, reply); {
	case err != nil:
		return 0, err
	case n == replyGranted:
		return Kept, nil
	case n == replyLost:
		return NotHeld, nil
	}
	return 0, unexpected(handOverScript, reply)
}
