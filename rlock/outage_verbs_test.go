package rlock_test

// Every verb of a lock, made ready to be used in an outage.

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// verb is one use of the API, made ready.
type verb struct {
	key          string
	use          func() error
	done, failed int                 // the levels after it succeeded, and in the end after it failed
	told         func() (int, error) // how many it holds, says the State; nil if Redis counts as many at any time
	undo         func() error        // after success
}

var (
	errTaken = errors.New("false")            // of TryLock
	errFree  = errors.New("there is no hold") // says State, or ForceUnlock
)

// verbs are all that can be asked of a lock, each on one of its own.
func (r *outageRig) verbs() map[string]verb {
	r.t.Helper()
	all := r.takingVerbs()
	maps.Copy(all, r.givingVerbs())
	maps.Copy(all, r.askingVerbs())
	return all
}

// hastyVerbs are over before the retry budget is, because of their Wait or their context. The locks are taken.
func (r *outageRig) hastyVerbs() map[string]verb {
	r.t.Helper()
	verbs := map[string]verb{}
	for name, wait := range map[string]time.Duration{"hasty try lock": 200 * time.Millisecond, "hasty line": 350 * time.Millisecond} {
		l, ctx := r.lockOf(name)
		r.foreign(l.Name())
		verbs[name] = verb{key: l.Name(), failed: 1, use: func() error { return orTaken(l.TryLock(ctx, rlock.Wait(wait))) }}
	}
	l, ctx := r.lockOf("hasty context")
	r.foreign(l.Name())
	verbs["hasty context"] = verb{key: l.Name(), failed: 1, use: func() error {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		return l.Lock(ctx)
	}}
	return verbs
}

// waiter waits for the lock of the rig, which is taken.
func (r *outageRig) waiter() <-chan error {
	r.t.Helper()
	r.foreign(r.key)
	done := outcome(func() error { return r.lock.Do(someone(), func(context.Context) error { return nil }) })
	r.asleep(1)
	return done
}

func (r *outageRig) lockOf(verb string) (*rlock.Lock, context.Context) {
	return r.client.NewLock(r.key + ":" + verb), someone()
}

func nothing() error { return nil }

// ready makes something ready: on a busy machine the short budget of a test may be over before it is.
func (r *outageRig) ready(use func() error) {
	r.t.Helper()
	var err error
	for range 20 {
		if err = use(); err == nil {
			return
		}
	}
	require.NoError(r.t, err)
}

// takingVerbs take a free lock, but for one that is nested.
func (r *outageRig) takingVerbs() map[string]verb {
	verbs := map[string]verb{}
	byOwner := func(name string, take func(l *rlock.Lock, ctx context.Context) error) {
		l, ctx := r.lockOf(name)
		verbs[name] = verb{
			key: l.Name(), done: 1, use: func() error { return take(l, ctx) }, undo: func() error { return l.Unlock(ctx) },
		}
	}
	byOwner("lock", func(l *rlock.Lock, ctx context.Context) error { return l.Lock(ctx) })
	byOwner("try lock", func(l *rlock.Lock, ctx context.Context) error { return orTaken(l.TryLock(ctx)) })
	byOwner("try lock with a wait", func(l *rlock.Lock, ctx context.Context) error {
		return orTaken(l.TryLock(ctx, rlock.Wait(time.Minute)))
	})
	for name, take := range map[string]func(*rlock.Lock, context.Context, ...rlock.AcquireOption) (*rlock.Hold, error){
		"acquire": (*rlock.Lock).Acquire, "try acquire": (*rlock.Lock).TryAcquire,
	} {
		l, ctx := r.lockOf(name)
		var h *rlock.Hold
		verbs[name] = verb{
			key: l.Name(), done: 1, undo: func() error { return h.Release(ctx) },
			use: func() (err error) { h, err = take(l, ctx); return err },
		}
	}
	l, ctx := r.lockOf("do")
	verbs["do"] = verb{
		key: l.Name(), use: func() error { return l.Do(ctx, func(context.Context) error { return nil }) }, undo: nothing,
	}
	nested, owner := r.lockOf("nested lock")
	r.ready(func() error { return nested.Lock(owner) })
	verbs["nested lock"] = verb{
		key: nested.Name(), done: 2, failed: 1, use: func() error { return nested.Lock(owner) },
		undo: func() error { return errors.Join(nested.Unlock(owner), nested.Unlock(owner)) },
		// A command of an attempt that was given up may come late, and Redis counts what it says until the next command.
		told: func() (int, error) { s, err := nested.State(owner); return s.Holds, err },
	}
	return verbs
}

// givingVerbs give back what is held, and what is given back stays so.
func (r *outageRig) givingVerbs() map[string]verb {
	r.t.Helper()
	plain, first := r.lockOf("unlock")
	r.ready(func() error { return plain.Lock(first) })
	inner, second := r.lockOf("inner unlock")
	r.ready(func() error { return inner.Lock(second) })
	r.ready(func() error { return inner.Lock(second) })
	handle, third := r.lockOf("release")
	var h *rlock.Hold
	r.ready(func() (err error) { h, err = handle.Acquire(third); return err })
	end, fourth := r.lockOf("end of do")
	inside, leave := make(chan struct{}), make(chan struct{})
	var over <-chan error
	r.ready(func() error {
		over = outcome(func() error {
			return end.Do(fourth, func(context.Context) error { close(inside); <-leave; return nil })
		})
		select {
		case <-inside:
			return nil
		case err := <-over:
			return err
		}
	})
	return map[string]verb{
		"unlock": {key: plain.Name(), use: func() error { return plain.Unlock(first) }, undo: nothing},
		"inner unlock": {
			key: inner.Name(), done: 1, failed: 1,
			use: func() error { return inner.Unlock(second) }, undo: func() error { return inner.Unlock(second) },
		},
		"release":   {key: handle.Name(), use: func() error { return h.Release(third) }, undo: nothing},
		"end of do": {key: end.Name(), use: func() error { close(leave); return <-over }, undo: nothing},
	}
}

// askingVerbs neither take nor give back a level of their caller's.
func (r *outageRig) askingVerbs() map[string]verb {
	r.t.Helper()
	fixed, ctx := r.lockOf("extend")
	var h *rlock.Hold
	r.ready(func() (err error) { h, err = fixed.Acquire(ctx, rlock.Lease(time.Minute)); return err })
	known, _ := r.lockOf("state")
	r.foreign(known.Name())
	forced, _ := r.lockOf("force unlock")
	r.foreign(forced.Name())
	return map[string]verb{
		"extend": {
			key: fixed.Name(), done: 1, failed: 1,
			use: func() error { return h.Extend(ctx, 2*time.Minute) }, undo: func() error { return h.Release(ctx) },
		},
		"state": {key: known.Name(), done: 1, failed: 1, undo: nothing, use: func() error {
			state, err := known.State(ctx)
			if err == nil && !state.Locked {
				return errFree
			}
			return err
		}},
		"force unlock": {key: forced.Name(), failed: 1, undo: nothing, use: func() error {
			removed, err := forced.ForceUnlock(ctx)
			if err == nil && !removed {
				return errFree
			}
			return err
		}},
	}
}

func orTaken(got bool, err error) error {
	if err == nil && !got {
		return errTaken
	}
	return err
}

// used is what a verb answered, and after what time.
type used struct {
	err  error
	took time.Duration
}

func useAll(verbs map[string]verb) map[string]<-chan used {
	answers := map[string]<-chan used{}
	for name, v := range verbs {
		answer := make(chan used, 1)
		answers[name] = answer
		go func() {
			began := instant()
			err := v.use()
			answer <- used{err, instant() - began}
		}()
	}
	return answers
}
