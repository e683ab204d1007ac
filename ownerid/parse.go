package ownerid

import (
	"errors"
	"fmt"
)

// ErrMalformed is what [Parse] and [NewAppID] say, wrapped with the reason, about a text that cannot be used.
var ErrMalformed = errors.New("malformed")

// The longest texts accepted, in bytes. Both end up in a Redis hash field that every command on the lock carries.
const (
	maxID    = 128
	maxLabel = 64
)

// Parse makes an owner of a text that comes from outside: a name handed over by another process, a header, a job id. It
// takes 1 to 128 letters, digits, dots, underscores and dashes (ASCII); for anything else the error wraps [ErrMalformed]
// and names what is wrong.
//
// The text of an ID gives that very ID again. So a text of your own should be neither a bare number, which would be some
// goroutine, nor "c" and a number, which would be some result of [New].
func Parse(text string) (ID, error) {
	if fault := faultOf(text, maxID); fault != "" {
		return ID{}, fmt.Errorf("ownerid: %w owner: %s", ErrMalformed, fault)
	}
	return ID{text: text}, nil
}

// faultOf says what is wrong with text, "" if nothing is. The alphabet leaves out what has a meaning in a lock's field
// (":" and "~"), in a key ("{" and "}") and in a terminal.
func faultOf(text string, longest int) string {
	switch {
	case text == "":
		return "it is empty"
	case len(text) > longest:
		return fmt.Sprintf("%d bytes, at most %d", len(text), longest)
	}
	for i, r := range text {
		if !allowed(r) {
			return fmt.Sprintf("%q at byte %d of %q; only A-Z a-z 0-9 . _ - are allowed", r, i, text)
		}
	}
	return ""
}

func allowed(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	return r == '.' || r == '_' || r == '-'
}
