package watchdog_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/watchdog"
)

// The times of most tests: those of a client with default settings.
const (
	lease  = 30 * time.Second
	period = lease / 3
	valid  = lease - time.Second // from a renewal to the alarm
)

// hold is a Hold that notes what happens to it. It is valid until its alarm and
// over once that was rung, unless onRing says otherwise.
type hold struct {
	node    string
	onRing  func(now time.Duration) // instead of being over
	onAlarm func()                  // within Alarm, after its answer was decided
	onOver  func()

	mu    sync.Mutex
	alarm time.Duration
	over  bool
	rings []time.Duration
}

func (h *hold) Node() string { return h.node }

func (h *hold) Alarm() time.Duration {
	h.mu.Lock()
	alarm := h.alarm
	h.mu.Unlock()
	if h.onAlarm != nil {
		h.onAlarm()
	}
	return alarm
}

func (h *hold) Over() bool {
	if h.onOver != nil {
		h.onOver()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

func (h *hold) Ring(now time.Duration) {
	h.mu.Lock()
	h.rings = append(h.rings, now)
	h.over = h.onRing == nil
	h.mu.Unlock()
	if h.onRing != nil {
		h.onRing(now)
	}
}

func (h *hold) setAlarm(at time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alarm = at
}

func (h *hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

func (h *hold) rung() []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]time.Duration(nil), h.rings...)
}

// sent is one call of Renew.
type sent struct {
	at    time.Duration
	holds []*hold
	done  func(int, watchdog.Result)
}

// answer reports r for the whole batch; a renewed hold has a later alarm.
func (s *sent) answer(r watchdog.Result) {
	for i, h := range s.holds {
		if r == watchdog.Renewed {
			h.setAlarm(s.at + valid)
		}
		s.done(i, r)
	}
}

// rig is a watchdog whose Renew notes its batches and leaves the answering to the
// test. Within synctest.Test its clock is virtual.
type rig struct {
	*watchdog.Watchdog
	start time.Time
	gap   atomic.Int64 // how long the machine was suspended

	mu   sync.Mutex
	sent []*sent
}

// newRig closes its watchdog at the end of the test. onSend, if given, is called
// within Renew; what is changed in the settings is the test's subject.
func newRig(t *testing.T, onSend func(*sent), changes ...func(*watchdog.Config)) *rig {
	r := &rig{start: time.Now()}
	cfg := watchdog.Config{
		Clock:  r.now,
		Period: period,
		Retry:  100 * time.Millisecond,
		Renew: func(batch []watchdog.Hold, done func(int, watchdog.Result)) {
			s := &sent{at: r.now(), done: done}
			for _, h := range batch {
				s.holds = append(s.holds, h.(*hold))
			}
			r.mu.Lock()
			r.sent = append(r.sent, s)
			r.mu.Unlock()
			if onSend != nil {
				onSend(s)
			}
		},
	}
	for _, change := range changes {
		change(&cfg)
	}
	r.Watchdog = watchdog.New(cfg)
	t.Cleanup(r.Close)
	return r
}

func (r *rig) now() time.Duration {
	return time.Since(r.start) + time.Duration(r.gap.Load())
}

// add takes a new hold of node into care, as if it had been acquired just now.
func (r *rig) add(node string, period time.Duration) (*hold, *watchdog.Entry) {
	h := &hold{node: node, alarm: r.now() + valid}
	return h, r.Add(h, period)
}

// batches returns the calls of Renew since it was last asked.
func (r *rig) batches() []*sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sent
	r.sent = nil
	return s
}

// one returns the only call of Renew since it was last asked.
func (r *rig) one(t *testing.T) *sent {
	t.Helper()
	b := r.batches()
	require.Len(t, b, 1)
	return b[0]
}

// renew answers every batch with Renewed from another goroutine, after a delay.
func renew(delay time.Duration) func(*sent) {
	return func(s *sent) {
		go func() {
			time.Sleep(delay)
			s.answer(watchdog.Renewed)
		}()
	}
}
