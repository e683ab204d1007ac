package stress_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// instant is the clock of all attacks. It is the same for every process of the machine, and nobody sets it.
func instant() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}
