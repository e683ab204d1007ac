package lua

import (
	_ "embed" // the script
	"time"
)

//go:embed renew.lua
var renewText string

var renewScript = newScript("renew", renewText)

// Renew is the call that raises the TTL of the key at key to the lease, if field is there and the TTL is less. Lease 0
// only looks whether the field is there.
func Renew(key, field Text, lease time.Duration) Call {
	return newCall(renewScript, key, field, boxed(millis(lease)))
}

// Look is the call that only looks whether field is there, save that a key without any expiry, as an operator's PERSIST makes
// it, is given one: rest, if that is above 0. [DecodeRenew] reads its reply.
func Look(key, field Text, rest time.Duration) Call {
	return newCall(renewScript, key, field, -millis(rest))
}

// DecodeRenew reads the reply to [Renew]: whether the field was there. An error means that no renew script gave it.
func DecodeRenew(reply any) (held bool, err error) { return yesOrNo(renewScript, reply) }
