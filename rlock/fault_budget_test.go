package rlock_test

// The faults of a wait that is cut short: by what, X5; while Redis does not answer, X7; and while a command is under
// way, X8.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks P3, what an error means: the lock is taken, the caller gave up, Redis is broken and the call was wrong are
// answers that differ, by every verb. Each matches what it says and nothing else, names the verb and the lock, and only
// "taken" is TryLock's false.
func TestFault_X5_TakenGivenUpAndBrokenAreDifferentAnswers(t *testing.T) {
	t.Parallel()
	const wait = 800 * time.Millisecond
	wants := func(d time.Duration) []rlock.AcquireOption { return []rlock.AcquireOption{rlock.Wait(d)} }
	tired, late := cancelledIn(wait), timedOutIn(wait)
	loading := func(r *rig) { r.refuse("-LOADING x", acquireScript) }
	forbidden := func(r *rig) { r.refuse("-NOPERM x", acquireScript) }
	closed := func(r *rig) { _ = r.client.Close(ended()) }
	for name, c := range map[string]struct {
		prepare func(r *rig)
		ctx     func(r *rig, ctx context.Context) context.Context
		opts    []rlock.AcquireOption
		matches string
	}{
		"taken":                     {(*rig).occupy, nil, wants(0), "ErrNotAcquired"},
		"taken while it waits":      {(*rig).occupy, nil, wants(wait), "ErrNotAcquired"},
		"cancelled before":          {nil, over, nil, "ErrNotAcquired Canceled"},
		"cancelled while it waits":  {(*rig).occupy, tired, wants(time.Minute), "ErrNotAcquired Canceled"},
		"late while it waits":       {(*rig).occupy, late, wants(time.Minute), "ErrNotAcquired DeadlineExceeded"},
		"under a lost hold":         {nil, (*rig).lost, nil, "ErrNotHeld ErrLost Canceled"},
		"port closed":               {(*rig).unplug, nil, wants(wait), "transport"},
		"port closed, late":         {(*rig).unplug, late, nil, "DeadlineExceeded transport"},
		"no answer":                 {(*rig).silence, nil, wants(wait), "transport"},
		"no answer, late":           {(*rig).silence, late, nil, "DeadlineExceeded transport"},
		"no answer, cancelled":      {(*rig).silence, tired, nil, "Canceled transport"},
		"no answer, in line":        {(*rig).silenceInLine, nil, wants(wait / 4), "transport"},
		"no answer, in line, late":  {(*rig).silenceInLine, late, wants(time.Minute), "DeadlineExceeded transport"},
		"it cannot serve now":       {loading, nil, wants(wait), "redis.Error"},
		"it cannot serve now, late": {loading, late, nil, "DeadlineExceeded redis.Error"},
		"forbidden":                 {forbidden, nil, wants(time.Minute), "redis.Error"},
		"closed":                    {closed, nil, wants(time.Minute), "ErrClosed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newPatientRig(t, redistest.Shared(t))
			if c.prepare != nil {
				c.prepare(r)
			}
			answers := map[string]<-chan error{}
			for op, take := range taking {
				ctx := someone()
				if c.ctx != nil {
					ctx = c.ctx(r, ctx)
				}
				answers[op] = outcome(func() error { return take(r.lock, ctx, c.opts...) })
			}
			for op, answer := range answers {
				err := <-answer
				require.Equal(t, c.matches, matches(err), "%s: %v", op, err)
				if op != "try lock" || c.matches != "ErrNotAcquired" {
					requireComplaint(t, err, op, r.key, "")
				}
			}
		})
	}
}

// Attacks P3, an unreachable Redis is an error and never false: a redis client with its defaults, which would try for
// many seconds, and a short Wait. The port is closed, nothing is answered, or new connections hang; to each verb, and
// to those who stand in line behind others.
func TestFault_X7_TheWaitBoundsEveryStepAndEndsWithTheReason(t *testing.T) {
	t.Parallel()
	const wait, callers = 300 * time.Millisecond, 4
	for name, breaks := range map[string]func(r *rig){
		"port closed":     (*rig).unplug,
		"black hole":      (*rig).silence,
		"new connections": func(r *rig) { r.silence(); r.proxy.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := watchStalls(t)
			r := newPatientRig(t, redistest.Shared(t))
			breaks(r)
			for op, take := range taking {
				began := instant()
				require.NoError(t, crowd(callers, callers, func(i int) error {
					patience := rlock.Wait(wait + time.Duration(i)*time.Millisecond)
					return unlessMatches("transport", take(r.lock, someone(), patience))
				}), op)
				assert.Less(t, instant()-began, wait+700*time.Millisecond+4*late.late(), op)
			}
		})
	}
}

// Attacks P3 and P7: the lock is taken, the server dies or hangs before the waiter is subscribed or while it sleeps
// after that, and the Wait ends. Nobody knows whether the lock is taken now, so the answer is the reason and not false.
func TestFault_X7_AServerThatGoesWhileOneWaitsIsTheReason(t *testing.T) {
	t.Parallel()
	const wait = time.Second
	subscribe := faultproxy.Command("subscribe")
	asking := func(r *rig) bool { return r.proxy.Received(subscribe) > 0 }
	for name, c := range map[string]struct {
		held  faultproxy.Match // what does not come through
		ready func(r *rig) bool
		goes  func(*redistest.Server)
	}{
		"killed before the subscription": {subscribe, asking, (*redistest.Server).Kill},
		"hangs before the subscription":  {subscribe, asking, (*redistest.Server).Pause},
		"killed under the sleeper":       {noCommand, (*rig).listens, (*redistest.Server).Kill},
		"hangs under the sleeper":        {noCommand, (*rig).listens, (*redistest.Server).Pause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := watchStalls(t)
			srv := redistest.Start(t)
			r := newPatientRig(t, srv)
			r.occupy()
			r.proxy.HoldRequest(time.Hour, faultproxy.Every, c.held)
			began := instant()
			done := outcome(func() error { return taking["try lock"](r.lock, someone(), rlock.Wait(wait)) })
			r.eventually(func() bool { return c.ready(r) }, "it waits")
			c.goes(srv)
			err := <-done
			require.Equal(t, "transport", matches(err), "%v", err)
			assert.Less(t, instant()-began, wait+700*time.Millisecond+4*late.late())
			if srv.PID() != 0 {
				srv.Resume()
			}
		})
	}
}

// Attacks P3: a redis client with its defaults does not heed the context while it waits for an answer. The verbs do,
// the grant that comes later is given back, and never comes to the watchdog.
func TestFault_X8_TheContextEndsACommandThatIsUnderWay(t *testing.T) {
	t.Parallel()
	const answer = 2 * time.Second
	late := watchStalls(t)
	r := newPatientRig(t, redistest.Shared(t))
	owner := someone()
	h, err := r.client.NewLock(r.key+":held").Acquire(owner, rlock.Lease(time.Minute))
	require.NoError(t, err)
	verbs := map[string]func(ctx context.Context) error{
		"state":        func(ctx context.Context) error { _, err := r.lock.State(ctx); return err },
		"force unlock": func(ctx context.Context) error { _, err := r.lock.ForceUnlock(ctx); return err },
		"extend":       func(ctx context.Context) error { return h.Extend(ctx, time.Hour) },
	}
	for op, take := range taking {
		verbs[op] = func(ctx context.Context) error { return take(r.lock, ctx, rlock.Wait(time.Minute)) }
	}
	r.proxy.DelayReplies(answer, faultproxy.Command("evalsha"), faultproxy.Command("eval"))
	for op, call := range verbs {
		ctx, cancel := context.WithTimeout(someone(), 100*time.Millisecond)
		began := instant()
		require.ErrorIs(t, call(ctx), context.DeadlineExceeded, op)
		cancel()
		assert.Less(t, instant()-began, answer/2+2*late.late(), op)
	}
	r.gone(10*time.Second, "far sooner than the lease of 30s")
	r.eventually(func() bool { return r.client.Leftovers().Orphans == 0 }, "the late answers have come")
	assert.Equal(t, 1, r.client.Leftovers().Watched, "the watchdog has what is held, and no late grant")
	r.proxy.Heal()
	require.NoError(t, h.Release(owner))
}

// taking has the verbs that take a lock, by the name that their errors have.
var taking = map[string]func(l *rlock.Lock, ctx context.Context, o ...rlock.AcquireOption) error{
	"lock": (*rlock.Lock).Lock,
	"try lock": func(l *rlock.Lock, ctx context.Context, o ...rlock.AcquireOption) error {
		ok, err := l.TryLock(ctx, o...)
		if !ok && err == nil {
			return rlock.ErrNotAcquired
		}
		return err
	},
	"acquire": func(l *rlock.Lock, ctx context.Context, o ...rlock.AcquireOption) error {
		_, err := l.Acquire(ctx, o...)
		return err
	},
	"try acquire": func(l *rlock.Lock, ctx context.Context, o ...rlock.AcquireOption) error {
		_, err := l.TryAcquire(ctx, o...)
		return err
	},
	"do": func(l *rlock.Lock, ctx context.Context, o ...rlock.AcquireOption) error {
		return l.Do(ctx, func(context.Context) error { return errors.New("called without the lock") }, o...)
	},
}

// newPatientRig has a Client on a redis client with its defaults, which waits for seconds and tries again.
func newPatientRig(t *testing.T, srv *redistest.Server) *rig {
	t.Helper()
	r := newRigOn(t, srv)
	r.client = r.clientWith(&redis.Options{Addr: r.proxy.Addr()})
	r.lock = r.client.NewLock(r.key)
	t.Cleanup(r.proxy.Cut) // else the Client waits for answers when it closes
	r.warm()
	return r
}

// unplug closes the port.
func (r *rig) unplug() { r.proxy.Refuse(true); r.proxy.Cut() }

// silence lets no answer through any more, nor a request.
func (r *rig) silence() { r.proxy.BlackHole(true) }

// silenceInLine has somebody ask, who gets no answer and has more patience than those who come after.
func (r *rig) silenceInLine() {
	r.silence()
	r.inBackground(func(ctx context.Context) error { return r.lock.Lock(ctx) })
	r.eventually(r.asked(acquireScript, 1), "it asks")
}

// lost is the context of a hold of that owner that is lost.
func (r *rig) lost(ctx context.Context) context.Context {
	r.t.Helper()
	h, err := r.client.NewLock(r.key+":lost").Acquire(ctx, rlock.Lease(60*time.Millisecond))
	require.NoError(r.t, err)
	requireEnd(r.t, h.Context())
	return h.Context()
}

func over(_ *rig, ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

func cancelledIn(d time.Duration) func(*rig, context.Context) context.Context {
	return func(_ *rig, ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(d, cancel)
		return ctx
	}
}

func timedOutIn(d time.Duration) func(*rig, context.Context) context.Context {
	return func(r *rig, ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, d)
		r.t.Cleanup(cancel)
		return ctx
	}
}

func noCommand([]string) bool { return false }
