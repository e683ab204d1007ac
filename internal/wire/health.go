package wire

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Outage is what is known of a Redis that does not answer.
type Outage struct {
	Since  time.Duration // when the first attempt was sent that was not answered
	Latest time.Duration // when the newest such outcome came in
	Err    error         // its reason; nil while Redis answers
}

// health remembers the outages by key, so that those who queue behind a failing head of a queue need not find out one after
// the other, each in a budget of its own. By key, because what fails for one lock says little of another: a cluster has many
// servers, and a refusal may be about a key.
type health struct {
	failing atomic.Int32 // how many keys there are; read without mu, so that an answered command pays one load

	mu    sync.Mutex // guards what follows
	byKey map[string]Outage
	full  int // at so many keys the old news are thrown away
}

// Outage reports whether Redis answers for a key, as the newest outcome of any attempt on it says.
func (w *Wire) Outage(key string) Outage {
	if w.health.failing.Load() == 0 {
		return Outage{}
	}
	w.health.mu.Lock()
	defer w.health.mu.Unlock()
	return w.health.byKey[key]
}

// note files the outcome of an attempt on a key that was sent at that instant, and passes it on.
func (w *Wire) note(key string, sent time.Duration, r Reply) Reply {
	if r.Retry {
		w.health.fail(key, sent, w.now(), r.Err)
	} else if w.health.failing.Load() > 0 {
		w.health.recover(key)
	}
	return r
}

// Silence files that an attempt, sent at that instant, is not answered yet although its caller stopped waiting for it. It
// counts only if a healthy server would have answered by now.
func (w *Wire) Silence(key string, sent time.Duration) {
	if now := w.now(); now-sent >= Grace {
		w.health.fail(key, sent, now, NoAnswer(now-sent))
	}
}

// Grace is what a healthy server has answered in: to wait less and call it silent would be a false alarm.
const Grace = 50 * time.Millisecond

const (
	manyOutages = 64
	oldNews     = time.Minute // nobody asks for older ones
)

func (h *health) fail(key string, sent, now time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out, known := h.byKey[key]
	if !known {
		h.makeRoomLocked(now)
		out.Since = sent
	}
	out.Latest, out.Err = now, err
	h.byKey[key] = out
	h.failing.Store(int32(len(h.byKey))) //nolint:gosec // far from the end of int32
}

// makeRoomLocked forgets keys for which nobody has tried anything for long, lest every name that ever failed stays.
func (h *health) makeRoomLocked(now time.Duration) {
	if h.byKey == nil {
		h.byKey, h.full = map[string]Outage{}, manyOutages
	}
	if len(h.byKey) >= h.full {
		maps.DeleteFunc(h.byKey, func(_ string, out Outage) bool { return now-out.Latest > oldNews })
		h.full = max(manyOutages, 2*len(h.byKey)) // so that the sweeps cost nothing worth naming
	}
}

func (h *health) recover(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byKey, key)
	h.failing.Store(int32(len(h.byKey))) //nolint:gosec // as above
}
