package lua

import (
	_ "embed" // the script
	"slices"
)

//go:embed force.lua
var forceText string

var forceScript = newScript("force", forceText)

// Force is the call that takes fields away from the lock at key, whoever holds them, and tells channel when the key goes
// with them. Both guards come from a [Read]: the fields it saw, and notAfter, which is its At plus the time that the
// caller is ready to wait, in µs. A run later than that changes nothing.
func Force(key, channel Text, fields []string, notAfter int64) Call {
	c := newCall(forceScript, key, channel, notAfter)
	c.fields = slices.Clone(fields)
	return c
}

// DecodeForce reads the reply to [Force]: whether at least one of the fields was there and was taken away. An error means
// that no force script gave it.
func DecodeForce(reply any) (removed bool, err error) { return yesOrNo(forceScript, reply) }
