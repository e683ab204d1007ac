package rlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/rlock-go/rlock/ownerid"
)

// Lock is a handle of one distributed reentrant lock. It holds no state: any number of goroutines may use it, for any
// number of owners.
type Lock struct {
	c            *Client
	name         string
	keys         keys
	nonReentrant bool
	bad          error // what is wrong with the name or the options
}

// Name is the lock's name as given to NewLock, without the key prefix.
func (l *Lock) Name() string { return l.name }

// Do runs fn while it holds the lock. It waits as Acquire does; fn's context carries the owner and ends with the hold. When
// fn returns, panics or ends its goroutine the lock is given back, whatever the state of ctx. The error is fn's joined with
// that of the release: a hold that was lost under fn is ErrLost even if fn returned nil.
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...AcquireOption) (err error) {
	h, err := l.acquire(ctx, "do", true, true, opts)
	if err != nil {
		return err
	}
	defer func() {
		if gone := h.giveBack(ctx); gone != nil {
			err = errors.Join(err, l.fail("do", gone))
		}
	}()
	return fn(h.Context())
}

// Acquire takes the lock and hands out the hold. It waits for another holder until ctx ends or Wait is over, and fails
// with ErrNotAcquired then, which matches the error of ctx too if that was the reason. If Redis cannot be reached for
// longer than the retry budget allows, the error is the transport's. A nested acquire on a lost hold is ErrLost.
//
// ctx bounds the waiting alone: the hold goes on when ctx ends, until Release. What is nil held: any error means that
// nothing is held by this call and that nothing is left behind.
func (l *Lock) Acquire(ctx context.Context, opts ...AcquireOption) (*Hold, error) {
	return l.acquire(ctx, "acquire", true, true, opts)
}

// TryAcquire is Acquire that does not wait for another holder: ErrNotAcquired if the lock is taken. With Wait it waits that
// long. It may take the retry budget if Redis does not answer.
func (l *Lock) TryAcquire(ctx context.Context, opts ...AcquireOption) (*Hold, error) {
	return l.acquire(ctx, "try acquire", false, true, opts)
}

// Lock takes the lock for the owner, as Acquire does, and leaves it to Unlock to give it back: RLock.lock of Redisson.
// With Lease it is lock(leaseTime).
//
// If a nested Lock fails, do not Unlock for it: a deferred Unlock that was set up before the error was looked at gives
// back the outer level.
func (l *Lock) Lock(ctx context.Context, opts ...AcquireOption) error {
	_, err := l.acquire(ctx, "lock", true, false, opts)
	return err
}

// TryLock is Lock that does not wait for another holder, or with Wait no longer than that: RLock.tryLock of Redisson. False
// means that the lock is taken and the wait over; every other failure is an error, an unreachable Redis above all. It may take
// the retry budget if Redis does not answer; a Wait above 0 cuts that short.
func (l *Lock) TryLock(ctx context.Context, opts ...AcquireOption) (bool, error) {
	_, err := l.acquire(ctx, "try lock", false, false, opts)
	var e *Error
	if errors.As(err, &e) && e.Err == ErrNotAcquired { //nolint:errorlint // bare: not the end of ctx, which wraps it
		return false, nil
	}
	return err == nil, err
}

// Unlock gives back the owner's newest level that Lock or TryLock took: RLock.unlock of Redisson. Levels of Acquire and Do
// are their Hold's alone. It does not depend on the state of ctx, which only says who the owner is. It is bounded also when
// Redis hangs: by the retry budget and one read time-out of the redis client, and as much again if another command of the
// same owner on this lock is hanging before it.
//
// ErrNotHeld: the owner has no such level. ErrLost (which is ErrNotHeld too): it had, but the hold ended before. A
// transport error: the level is given back all the same, and the server is told as soon as it can be reached; to repeat
// the call would give back the next level. ErrClosed: likewise, but the Client was closed, so the lock runs out by its lease.
func (l *Lock) Unlock(ctx context.Context) error {
	owner, err := l.ownerOf(ctx)
	if err != nil {
		return l.fail("unlock", err)
	}
	h := l.c.table.claimNewestVerb(seatKey{l.keys.hash, owner})
	if h == nil {
		return l.fail("unlock", fmt.Errorf("%w by owner %v through Lock or TryLock", ErrNotHeld, owner))
	}
	return l.fail("unlock", h.giveBackClaimed(ctx))
}

// Held shows the owner's hold, for code that works with Lock and Unlock: its context, its validity, its token. It does no
// I/O, and is false when the owner holds nothing or the hold is over. The Hold shown cannot release: that is Unlock's. It is about
// the possession as a whole: the MaxHold of one level among others does not end it.
func (l *Lock) Held(ctx context.Context) (*Hold, bool) {
	owner, err := l.ownerOf(ctx)
	if err != nil {
		return nil, false
	}
	return l.c.table.view(ctx, seatKey{l.keys.hash, owner})
}

// ownerOf is the owner under ctx, if the handle can be used at all.
func (l *Lock) ownerOf(ctx context.Context) (ownerid.ID, error) {
	if l.bad != nil {
		return ownerid.ID{}, l.bad
	}
	return l.c.owner(ctx)
}

// usable judges a verb that asks Redis and needs no owner.
func (l *Lock) usable(ctx context.Context) error {
	switch {
	case l.bad != nil:
		return l.bad
	case ctx == nil:
		return errNilContext
	case l.c.isClosing():
		return ErrClosed
	default:
		return nil
	}
}

// fail wraps an error with the verb and the lock's name, once.
func (l *Lock) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Lock: l.name, Err: err}
}
