package rlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The sentinels stand for the decisions a caller can make; test for them with errors.Is. Some imply others: what is
// ErrMaxHold is ErrLost too, and what is ErrLost is ErrNotHeld too.
var (
	// ErrNotAcquired: the lock was not taken. Somebody else holds it and Wait has passed, or the context of the call ended
	// before the lock was had; the error then matches the context's error as well. Nothing is held and nothing is left
	// behind. Where Redis gives no answer nobody knows whether the lock is taken: the error is the transport's then, joined
	// with the context's if that ended.
	ErrNotAcquired error = sentinel{text: "not acquired"}

	// ErrNotHeld: there is no such hold to give back. Nothing was changed.
	ErrNotHeld error = sentinel{text: "not held"}

	// ErrLost: the hold ended before it was given back: the server no longer knew it, or no renewal was confirmed in
	// time, or its fixed lease was over, or it was unlocked by force. Whoever holds the lock now, it is not this owner.
	ErrLost error = sentinel{text: "lock lost", is: ErrNotHeld}

	// ErrMaxHold: the hold was ended by MaxHold.
	ErrMaxHold error = sentinel{text: "held for as long as MaxHold allows", is: ErrLost}

	// ErrReentry: the owner holds the lock already, and the lock is NonReentrant.
	ErrReentry error = sentinel{text: "held by this owner already, and the lock is not reentrant"}

	// ErrNoOwner: the context carries no owner, and WithExplicitOwners forbids to take the goroutine for it.
	ErrNoOwner error = sentinel{text: "the context carries no owner"}

	// ErrReleased is the cause of a hold's context after the hold was given back in the ordinary way.
	ErrReleased error = sentinel{text: "lock released"}

	// ErrClosed: the Client was closed. It is also the cause of a hold's context from then on.
	ErrClosed error = sentinel{text: "client closed"}
)

// sentinel is an error that may imply another one.
type sentinel struct {
	text string
	is   error
}

func (s sentinel) Error() string { return s.text }
func (s sentinel) Unwrap() error { return s.is }

// The ways to lose a hold. They differ in their text alone, save that an owner taken from the goroutine may start afresh
// after errLeaseOver.
var (
	errGone        = fmt.Errorf("%w: the server no longer knows this hold", ErrLost)
	errUnconfirmed = fmt.Errorf("%w: not confirmed by the server in time", ErrLost)
	errLeaseOver   = fmt.Errorf("%w: its lease is over", ErrLost)
	errForced      = fmt.Errorf("%w: unlocked by force", ErrLost)
)

// Error says which operation on which lock failed. Err is what errors.Is and errors.As look into.
type Error struct {
	Op   string // the verb: "lock", "try lock", "acquire", "unlock", …
	Lock string // the name as given to NewLock
	Err  error
	// TTL is set when the lock was taken: what the holder's lease had left when Redis was last asked, or NoTTL. A holder
	// that is alive renews it, so it is no promise of an end.
	TTL time.Duration
}

func (e *Error) Error() string {
	if e.TTL > 0 {
		return fmt.Sprintf("rlock: %s %q: %v (taken, lease ends in %v)", e.Op, e.Lock, e.Err, e.TTL)
	}
	return fmt.Sprintf("rlock: %s %q: %v", e.Op, e.Lock, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// endOf is the error of a context that ended a wait: its Err, so that errors.Is finds context.Canceled, and its cause if
// that says more.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
