package lua

import _ "embed" // the script

//go:embed force.lua
var forceText string

var forceScript = newScript("force", forceText)

// Force is the call that takes fields away from the lock at key, whoever holds them, and tells channel when the key goes
// with them. Both guards come from a [Read]: the fields it saw, and notAfter, which is its At plus the time that the
// caller is ready to wait, in µs. A run later than that changes nothing.
func Force(key, channel string, fields []string, notAfter int64) Call {
	words := make([]any, 0, 4+len(fields))
	words = append(words, 1, key, channel, notAfter)
	for _, field := range fields {
		words = append(words, field)
	}
	return Call{script: forceScript, words: words}
}

// DecodeForce reads the reply to [Force]: whether at least one of the fields was there and was taken away. An error means
// that no force script gave it.
func DecodeForce(reply any) (removed bool, err error) { return yesOrNo(forceScript, reply) }
