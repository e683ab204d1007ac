package faultproxy

import (
	"crypto/sha1" //nolint:gosec // not for security: it is how Redis names a script
	"encoding/hex"
	"strings"
	"sync"
)

// scriptMark starts the first line of a script that has a name.
const scriptMark = "-- rlock:"

// scripts maps digests to names. A digest means the same text to every proxy, so
// there is one map for all.
var scripts sync.Map

// KnowScript tells every proxy the name of the script with this SHA-1, in
// hexadecimal. It is needed only where a client may send EVALSHA without any
// proxy having seen the text before.
func KnowScript(sha, name string) { scripts.Store(strings.ToLower(sha), name) }

// Script matches the runs of the script whose first line is "-- rlock:<name>",
// sent as EVAL, or as EVALSHA once its text has been seen (see [KnowScript]).
// SCRIPT LOAD is no run.
func Script(name string) Match {
	return func(cmd []string) bool {
		if len(cmd) < 2 {
			return false
		}
		found, known := "", false
		switch strings.ToLower(cmd[0]) {
		case "eval", "eval_ro":
			found, known = nameOf(cmd[1])
		case "evalsha", "evalsha_ro":
			found, known = nameBySHA(cmd[1])
		}
		return known && found == name
	}
}

func nameOf(text string) (string, bool) {
	line, _, _ := strings.Cut(text, "\n")
	rest, marked := strings.CutPrefix(line, scriptMark)
	if words := strings.Fields(rest); marked && len(words) > 0 {
		return words[0], true
	}
	return "", false
}

func nameBySHA(sha string) (string, bool) {
	value, _ := scripts.Load(strings.ToLower(sha))
	name, known := value.(string)
	return name, known
}

// learnScript remembers the name of a text that passes by.
func learnScript(cmd []string) {
	text := ""
	switch {
	case len(cmd) > 1 && (strings.EqualFold(cmd[0], "eval") || strings.EqualFold(cmd[0], "eval_ro")):
		text = cmd[1]
	case len(cmd) > 2 && strings.EqualFold(cmd[0], "script") && strings.EqualFold(cmd[1], "load"):
		text = cmd[2]
	}
	if name, marked := nameOf(text); marked {
		sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
		KnowScript(hex.EncodeToString(sum[:]), name)
	}
}
