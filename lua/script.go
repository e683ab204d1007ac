package lua

import (
	"crypto/fips140"
	"crypto/sha1" //nolint:gosec // not for security: it is how Redis names a script
	"encoding/hex"
)

// script is one .lua file. Text and digest are kept as any because that is how go-redis takes arguments: boxed once
// instead of at each command.
type script struct {
	name   string
	text   any // string
	digest any // string; nil where SHA-1 is forbidden
}

// newScript is called at start-up, for the digest is needed at the first command anyway.
func newScript(name, text string) *script {
	s := &script{name: name, text: text}
	if !fips140.Enforced() {
		sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
		s.digest = hex.EncodeToString(sum[:])
	}
	return s
}
