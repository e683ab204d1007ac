package cells

import (
	"syscall"
	"time"
)

// cpuTime is what this process has spent on all cores, in user and system mode.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic("cells: getrusage: " + err.Error()) // it knows no failure for this process
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
