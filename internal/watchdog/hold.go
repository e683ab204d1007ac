package watchdog

import (
	"math"
	"time"
)

// Never is the alarm of a hold that has none, and the period of one that is not
// to be renewed.
const Never time.Duration = math.MaxInt64

// Hold is what the watchdog looks after. Instants are those of Config.Clock.
//
// The methods are called from the watchdog's goroutine (Alarm also from Add and
// Refresh) with no lock of the watchdog's held. They must not block, since all
// holds wait meanwhile, but may call Add, Remove and Refresh. A call that had
// begun when Remove was called may still be under way when it returns.
type Hold interface {
	// Alarm is the next instant at which Ring must be called. The hold is asked
	// again at every step, and once more before ringing, so an alarm may move to
	// later without a word; one that moves to earlier needs a Refresh.
	Alarm() time.Duration
	// Ring says that the alarm's instant has come. What is over, the hold itself
	// or a part of it, is for the hold to decide.
	Ring(now time.Duration)
	// Over reports that the hold has ended. The watchdog forgets it when it
	// next comes to look, at the latest when it is due or its alarm is.
	Over() bool
	// Node names the server to which a renewal goes. Batches never mix nodes.
	Node() string
}

// Result is how the renewal of one hold went.
type Result int

const (
	// Failed says nothing about the hold: it is tried again. It is the zero
	// value, so that forgetting to decide never ends a hold.
	Failed Result = iota
	// Renewed is a renewal that the server confirmed.
	Renewed
	// Gone is the proof that there is nothing to renew any more.
	Gone
)

// Renew sends one batch of holds of one node, at least one and at most
// Config.Batch. It must return quickly, as everything else waits for it: the
// work belongs on another goroutine, with a time-out of its own. It must call
// done for each index of batch, from any goroutine and at any time, also before
// it returns; until then that hold is not renewed again. Of several calls for
// one index the first counts. The slice is Renew's to keep.
type Renew func(batch []Hold, done func(i int, r Result))
