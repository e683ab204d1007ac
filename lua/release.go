package lua

import (
	_ "embed" // the script
	"time"
)

//go:embed release.lua
var releaseText string

var releaseScript = newScript("release", releaseText)

// Release is the call that leaves remain levels to field; 0 takes the field away, and when the key at key goes with it,
// tells channel. While levels remain, the key's TTL is raised to raise if it is less; raise 0 leaves it alone. Nothing
// here ever lowers it.
func Release(key, channel, field Text, remain int, raise time.Duration) Call {
	return newCall(releaseScript, key, channel, field, remain, millis(raise))
}

// ReleaseOutcome is how a release ended. The zero value is none of them.
type ReleaseOutcome int

const (
	// NotHeld: the field was not there. Nothing was changed.
	NotHeld ReleaseOutcome = iota + 1
	// Kept: given back, but the lock is not free; levels remain, or another field keeps the key.
	Kept
	// Freed: the key is gone, and its waiters were told if this user may publish.
	Freed
)

// DecodeRelease reads the reply to [Release]. An error means that no release script gave it.
func DecodeRelease(reply any) (ReleaseOutcome, error) {
	n, err := integer(releaseScript, reply)
	if err != nil {
		return 0, err
	}
	switch n {
	case 0:
		return NotHeld, nil
	case 1:
		return Kept, nil
	case 2:
		return Freed, nil
	}
	return 0, unexpected(releaseScript, reply)
}
