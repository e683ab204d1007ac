package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boot is the clock to live by: time since boot, which on Linux goes on while the machine is suspended.
func Boot() Clock {
	if _, err := sinceBoot(); err != nil {
		// A sandbox that forbids the call. Decided once: two clocks with two starting points must never be mixed.
		return Monotonic()
	}
	return func() time.Duration {
		now, _ := sinceBoot() // it can fail only for a clock that the kernel does not know, and it knew it above
		return now
	}
}

func sinceBoot() (time.Duration, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return time.Duration(now.Nano()), err
}
