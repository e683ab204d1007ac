// Package clock tells how long ago something happened, suspensions included.
//
// A lock's deadline is a span that began when a command was sent. The wall clock cannot measure it, for it is set by hand
// and by NTP; nor can Go's monotonic clock where it stops while the machine is suspended: the lease runs out in Redis
// meanwhile, and the holder that wakes up would still trust it.
package clock

import "time"

// Clock is asked for the time that has passed since some fixed point in the past, the same one at each call. What it says
// never goes backwards. An instant is such a duration; it means nothing to another Clock.
type Clock func() time.Duration

// Monotonic is Go's own monotonic clock, counted from the call of Monotonic. While the machine is suspended it may stand
// still. Inside a testing/synctest bubble it follows the bubble's time.
func Monotonic() Clock {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
