package watchdog

import "time"

// forgotten is the index of an entry that is not in the queue.
const forgotten = -1

// Entry is a hold in care: what Add gives out and Remove takes. There is one per
// taken lock, hence the narrow fields.
type Entry struct {
	hold   Hold
	period time.Duration

	// Guarded by the watchdog's mu. An entry is in the queue from Add until it
	// is forgotten, also while it is being looked at or in flight, so that
	// Remove finds the same situation at any moment.
	due       time.Duration // of the next renewal, unless one is in flight
	alarm     time.Duration // as the hold last told it, so possibly too early
	flight    *batch        // the batch that this entry waits for, or nil
	index     int32         // its place in the queue, or forgotten
	refreshed uint16        // how often Refresh was called, to notice one that overlaps a look
	fails     uint8         // renewals that failed in a row
}

// next is the instant at which somebody has to look at e. With a renewal in
// flight there is only the alarm to wait for.
func (e *Entry) next() time.Duration {
	if e.flight != nil {
		return e.alarm
	}
	return min(e.due, e.alarm)
}

// isDue reports whether e is to be renewed in this round. The slack lets it share
// the batch of others; not after a failure, for it would make nothing of the pause.
func (e *Entry) isDue(r round) bool {
	by := r.now
	if e.fails == 0 {
		by = later(by, min(r.slack, e.period/20))
	}
	return e.flight == nil && e.due <= by
}

// later adds a span to an instant without going round the end of time.
func later(instant, span time.Duration) time.Duration {
	if span > Never-instant {
		return Never
	}
	return instant + span
}
