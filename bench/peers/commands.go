package peers

import "slices"

// Commands is what a library says to Redis, for counting what it sends. INFO commandstats counts a command that a script
// runs like one that a client sends, and total_commands_processed does too, so what was sent can only be told by knowing
// which is which. A test compares the count with MONITOR, which marks what scripts run.
type Commands struct {
	// Inside are the commands that only its scripts run. All others count as sent, so that a command nobody thought of
	// makes the count too high and not too low.
	Inside []string
	// Both are commands that its scripts run as often as another one of Inside, and that it sends besides.
	Both map[string]string
}

// Sent is how many commands the library sent, of the calls that commandstats counted under lower-case names.
func (c Commands) Sent(calls map[string]int64) int64 {
	var sent int64
	for name, n := range calls {
		if !slices.Contains(c.Inside, name) {
			sent += n - calls[c.Both[name]]
		}
	}
	return sent
}
