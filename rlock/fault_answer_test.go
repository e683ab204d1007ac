package rlock_test

// The faults of an answer that says too little: R8.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// Attacks P2 and P8, what a give-back answers: released, lost before, never held or given back already, and unknown are
// four answers, by Unlock, by Release and by Do. Each matches what it says and nothing else.
func TestFault_R8_EachOutcomeOfAGiveBackIsAnAnswerOfItsOwn(t *testing.T) {
	t.Parallel()
	const lost, unknown, refused = "ErrNotHeld ErrLost", "transport", "redis.Error"
	nothing := func(*rig, context.Context) {}
	for name, c := range map[string]struct {
		opts    []rlock.AcquireOption
		happens func(r *rig, told context.Context)
		matches string
	}{
		"held":            {nil, nothing, ""},
		"its lease over":  {[]rlock.AcquireOption{rlock.Lease(200 * time.Millisecond)}, untilTold, lost},
		"deleted":         {nil, deleted, lost},
		"stolen":          {nil, func(r *rig, told context.Context) { deleted(r, told); r.occupy() }, lost},
		"forced":          {nil, forced, lost},
		"out of reach":    {nil, cutOff, lost},
		"its time is up":  {[]rlock.AcquireOption{rlock.MaxHold(200 * time.Millisecond)}, untilTold, lost + " ErrMaxHold"},
		"port closed":     {nil, func(r *rig, _ context.Context) { r.unplug() }, unknown},
		"no answer":       {nil, func(r *rig, _ context.Context) { r.silence() }, unknown},
		"forbidden":       {nil, func(r *rig, _ context.Context) { r.refuse("-NOPERM x", releaseScript) }, refused},
		"loading":         {nil, func(r *rig, _ context.Context) { r.refuse("-LOADING x", releaseScript) }, refused},
		"after the Close": {nil, func(r *rig, _ context.Context) { _ = r.client.Close(ended()) }, "ErrClosed"},
	} {
		for verb, take := range givingBack {
			t.Run(name+", "+verb, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, rlock.WithRetryBudget(2*answerTime), rlock.WithWatchdogTimeout(1500*time.Millisecond))
				r.warm()
				err := take(r.lock, someone(), c.opts, func(told context.Context) { c.happens(r, told) })
				require.Equal(t, c.matches, matches(err), "%v", err)
				if err != nil {
					requireComplaint(t, err, verb, r.key, "")
				}
			})
		}
	}
}

// Attacks P2: to give back what was never had, is another's, or was given back before is ErrNotHeld, which is no loss.
func TestFault_R8_NotHeldIsNoLoss(t *testing.T) {
	t.Parallel()
	r, ann := newRig(t), someone()
	require.Equal(t, "ErrNotHeld", matches(r.lock.Unlock(ann)), "never")
	require.NoError(t, r.lock.Lock(ann))
	require.Equal(t, "ErrNotHeld", matches(r.lock.Unlock(someone())), "another's")
	require.Equal(t, "ErrNotHeld", matches(r.client.NewLock("other").Unlock(ann)), "another lock")
	require.Equal(t, "ErrNotHeld", matches(r.rival.Unlock(ann)), "another Client's")
	h, err := r.lock.Acquire(ann)
	require.NoError(t, err)
	require.NoError(t, r.lock.Unlock(ann))
	require.Equal(t, "ErrNotHeld", matches(r.lock.Unlock(ann)), "the level left is its Hold's")
	require.NoError(t, h.Release(ann))
	require.Equal(t, "ErrNotHeld", matches(h.Release(ann)), "again")
	require.Equal(t, "ErrNotHeld", matches(r.lock.Unlock(ann)), "again")
}

// matches lists what an error is to errors.Is and errors.As, of all that a caller may ask for.
func matches(err error) string {
	var found []string
	for _, s := range []struct {
		name string
		err  error
	}{
		{"ErrNotAcquired", rlock.ErrNotAcquired},
		{"ErrNotHeld", rlock.ErrNotHeld},
		{"ErrLost", rlock.ErrLost},
		{"ErrMaxHold", rlock.ErrMaxHold},
		{"ErrReentry", rlock.ErrReentry},
		{"ErrNoOwner", rlock.ErrNoOwner},
		{"ErrReleased", rlock.ErrReleased},
		{"ErrClosed", rlock.ErrClosed},
		{"Canceled", context.Canceled},
		{"DeadlineExceeded", context.DeadlineExceeded},
	} {
		if errors.Is(err, s.err) {
			found = append(found, s.name)
		}
	}
	if isTransport(err) {
		found = append(found, "transport")
	}
	if _, is := errors.AsType[redis.Error](err); is {
		found = append(found, "redis.Error")
	}
	return strings.Join(found, " ")
}

func isTransport(err error) bool {
	_, ofTheNet := errors.AsType[*net.OpError](err)
	_, ofTheSystem := errors.AsType[syscall.Errno](err)
	return ofTheNet || ofTheSystem || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.EOF)
}

// unlessUnknown is nil for the answer that Redis could not be asked, and for nothing else.
func unlessUnknown(err error) error {
	if unlessMatches("transport", err) == nil {
		return nil
	}
	return unlessMatches("redis.Error", err)
}

// unlessMatches is nil for an error that matches just that.
func unlessMatches(want string, err error) error {
	if got := matches(err); got != want {
		return fmt.Errorf("matches %q: %w", got, err)
	}
	return nil
}
