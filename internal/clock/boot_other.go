//go:build !linux

package clock

// Boot is the clock to live by: time since boot. On this system it is Go's monotonic clock, which may stand still while
// the machine is suspended.
func Boot() Clock { return Monotonic() }
