package watchdog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/watchdog"
)

func TestAlarmRingsWithoutRenewals(t *testing.T) {
	for name, period := range map[string]time.Duration{"never": watchdog.Never, "an hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, renew(0))
				time.Sleep(time.Second) // Never is not Never from now
				h, e := r.add("a", period)
				time.Sleep(valid - 1)
				synctest.Wait()
				assert.Empty(t, h.rung())
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				assert.Equal(t, []time.Duration{time.Second + valid}, h.rung())
				assert.True(t, r.Forgotten(e), "it said that it was over")
				assert.Empty(t, r.batches())
			})
		})
	}
}

// W11, W15: one node is a black hole whose renewals are never answered.
func TestMuteNodeDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *sent) {
			if s.holds[0].node != "mute" {
				renew(time.Millisecond)(s)
			}
		})
		var mute, live []*hold
		for range 1000 {
			m, _ := r.add("mute", period)
			l, _ := r.add("live", period)
			mute, live = append(mute, m), append(live, l)
		}
		time.Sleep(10*lease + time.Second)
		synctest.Wait()
		for _, h := range mute {
			require.Equal(t, []time.Duration{valid}, h.rung())
		}
		for _, h := range live {
			require.Empty(t, h.rung())
		}
		assert.Equal(t, len(live), r.Len())
		for _, s := range r.batches() {
			require.Zero(t, s.at%period)
			if s.holds[0].node == "mute" {
				require.Equal(t, period, s.at, "tried once, and not answered")
			}
		}
	})
}

func TestAlarmThatMovedLaterIsNotRung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		var asked []time.Duration
		h := &hold{node: "a", alarm: valid, onAlarm: func() { asked = append(asked, r.now()) }}
		r.Add(h, watchdog.Never)
		time.Sleep(valid / 2)
		h.setAlarm(2 * valid)
		time.Sleep(2*valid - valid/2 - 1)
		synctest.Wait()
		assert.Equal(t, []time.Duration{0, valid}, asked, "only when the old alarm came")
		assert.Empty(t, h.rung())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, []time.Duration{2 * valid}, h.rung())
	})
}

func TestRefreshMovesAnAlarmToEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		h, e := r.add("a", watchdog.Never)
		time.Sleep(time.Second)
		h.setAlarm(1100 * time.Millisecond)
		r.Refresh(e)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []time.Duration{1100 * time.Millisecond}, h.rung())
		r.Refresh(e)
		assert.True(t, r.Forgotten(e), "Refresh brings nothing back")
	})
}

// The alarm moves to earlier after the watchdog has asked for it and before the
// answer is entered. The Refresh must not be undone by the older answer.
func TestRefreshDuringALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		var e *watchdog.Entry
		const look, early = 5 * time.Second, 7 * time.Second
		h := &hold{node: "a", alarm: look}
		h.onAlarm = func() {
			if e != nil && r.now() == look {
				h.onAlarm = nil
				h.setAlarm(early)
				r.Refresh(e)
			}
		}
		e = r.Add(h, watchdog.Never)
		time.Sleep(time.Second)
		h.setAlarm(20 * time.Second) // which is what the look will be told
		time.Sleep(lease)
		synctest.Wait()
		assert.Equal(t, []time.Duration{early}, h.rung())
	})
}

// A hold may have several levels, each with an end of its own.
func TestEveryLevelIsRung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		levels := []time.Duration{time.Second, time.Second + time.Millisecond, 12 * time.Second, 12 * time.Second}
		h := &hold{node: "a", alarm: levels[0]}
		h.onRing = func(now time.Duration) {
			for len(levels) > 0 && levels[0] <= now {
				levels = levels[1:]
			}
			if len(levels) == 0 {
				h.end()
				return
			}
			h.setAlarm(levels[0])
		}
		r.Add(h, watchdog.Never)
		time.Sleep(lease)
		synctest.Wait()
		assert.Equal(t, []time.Duration{time.Second, time.Second + time.Millisecond, 12 * time.Second}, h.rung())
		assert.Zero(t, r.Len())
	})
}

func TestRungWithoutEffectIsNoBusyLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		h := &hold{node: "a", alarm: valid, onRing: func(time.Duration) {}}
		r.Add(h, watchdog.Never)
		time.Sleep(valid + time.Second)
		synctest.Wait()
		rung := h.rung()
		assert.Len(t, rung, 201, "it is asked to end again and again")
		for i, at := range rung {
			assert.Equal(t, valid+time.Duration(i)*5*time.Millisecond, at)
		}
	})
}

// W19: timers stood still while the machine slept, the injected clock did not.
func TestSuspensionIsNoticedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, renew(0))
		h, _ := r.add("a", watchdog.Never)
		time.Sleep(time.Second + time.Millisecond) // just after the fourth glance
		synctest.Wait()
		r.gap.Store(int64(time.Hour))
		time.Sleep(lease)
		synctest.Wait()
		assert.Equal(t, []time.Duration{time.Hour + 1250*time.Millisecond}, h.rung(), "with the fifth")
	})
}
