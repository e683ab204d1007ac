package faultproxy

import (
	"slices"
	"strings"
)

// Match says whether a fault, or a question, is about a request; cmd is its
// words, the command's name first and as the client wrote it. A word beyond
// 1 KiB may come shortened to that. A Match must not call the proxy, nor keep
// cmd. A nil Match is [Any].
type Match func(cmd []string) bool

// Any matches every request.
func Any([]string) bool { return true }

// Command matches requests by the command's name in any case, or by its first
// words: Command("evalsha"), Command("client setname").
func Command(name string) Match {
	want := strings.Fields(name)
	return func(cmd []string) bool {
		return len(cmd) >= len(want) && slices.EqualFunc(cmd[:len(want)], want, strings.EqualFold)
	}
}

// Word matches requests with this argument, for instance a key.
func Word(word string) Match {
	return func(cmd []string) bool { return len(cmd) > 0 && slices.Contains(cmd[1:], word) }
}

// Not matches what m does not.
func Not(m Match) Match { return func(cmd []string) bool { return !m.matches(cmd) } }

// And matches what all of them match.
func And(all ...Match) Match {
	return func(cmd []string) bool {
		return !slices.ContainsFunc(all, func(m Match) bool { return !m.matches(cmd) })
	}
}

// Or matches what at least one of them matches.
func Or(some ...Match) Match {
	return func(cmd []string) bool {
		return slices.ContainsFunc(some, func(m Match) bool { return m.matches(cmd) })
	}
}

func (m Match) matches(cmd []string) bool { return m == nil || m(cmd) }
