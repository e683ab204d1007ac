package cells

import "github.com/rlock-go/rlock/bench/stats"

// Result is what one process measured. What a kind of work does not measure stays zero.
type Result struct {
	Seconds float64         `json:"seconds"` // how long it was measured, as the meters saw it
	Ops     int64           `json:"ops"`     // acquisitions that ended in that time
	Shares  []int64         `json:"shares"`  // of each goroutine
	Waits   stats.Histogram `json:"waits"`   // of each acquisition that began in that time, or of each pair
	Tails   []float64       `json:"tails"`   // of each goroutine: what 99 % of its waits do not exceed, in seconds
	Stuck   int64           `json:"stuck"`   // goroutines that waited in vain for a lock that had become free
	Pings   stats.Histogram `json:"pings"`   // of each two PINGs on the same kind of connection
	CPU     float64         `json:"cpu"`     // seconds of this process on all cores in that time
	Allocs  float64         `json:"allocs"`  // allocations per acquisition and release; 0: not counted
	Each    float64         `json:"each"`    // bytes of heap for each waiter or hold
	Routine float64         `json:"routine"` // goroutines, or threads, that all holds together brought along
}

// message is what a process says to its parent, one JSON object a line.
type message struct {
	Event  string `json:"event"` // ready, done or failed
	Error  string `json:"error,omitempty"`
	Result Result `json:"result"`
}

const (
	ready  = "ready"
	done   = "done"
	failed = "failed"
	begin  = "go"
)
