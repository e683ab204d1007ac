package rlock

import (
	"context"
	"errors"
	"time"

	"github.com/rlock-go/rlock/internal/gate"
	"github.com/rlock-go/rlock/internal/wire"
)

// acquisition is one call of an acquiring verb, from its first look at the lock to its end. It belongs to one goroutine.
type acquisition struct {
	c       *Client
	lock    *Lock
	req     request
	seat    *seat
	started time.Duration
	limit   time.Duration // when Wait is over; 0: never
	field   field         // the field of the next attempt, while no attempt with it is in doubt
	row     row           // of hand-overs that the attempt is the newest of
	failing time.Duration // since when no attempt was answered; meaningful while failure is set
	failure error         // why the newest attempt was not answered
	backoff wire.Backoff
	ttl     time.Duration // what the holder's lease had left at the newest look that found one
	heard   time.Duration // when Redis was last asked with success; 0: never
	warned  bool          // that the wait is long
	alone   gate.Board    // what it asked and was answered
	ticket  *gate.Ticket  // once it stands in line
	parked  *waiter       // while it sleeps there
	line    *gate.Board   // what anybody in its line asked and was answered; nil until it stands there
}

// acquire is the one way into a lock, for every verb.
func (l *Lock) acquire(ctx context.Context, op string, waits, handle bool, opts []AcquireOption) (*Hold, error) {
	req, err := newRequest(op, waits, handle, opts)
	if err != nil {
		return nil, l.fail(op, err)
	}
	owner, err := l.ownerOf(ctx)
	if err != nil {
		return nil, l.fail(op, err)
	}
	if l.c.isClosing() { // those who go on calling must not keep the table from being empty
		return nil, l.fail(op, ErrClosed)
	}
	a := &acquisition{c: l.c, lock: l, req: req, started: l.c.set.now()}
	if req.wait > 0 && req.wait < maxLease {
		a.limit = a.started + req.wait
	}
	a.seat = l.c.table.sit(seatKey{l.keys.hash, owner})
	defer l.c.table.rise(a.seat)
	return a.run(ctx)
}

// run looks once if the owner is inside already, or does not want to wait; every other acquire stands in line, which for
// the first means to look at once: an uncontended acquire is one command, and a crowd of newcomers is one command too.
func (a *acquisition) run(ctx context.Context) (*Hold, error) {
	got := answer{verdict: taken}
	if !a.req.waits || a.seat.current() != nil {
		got = a.try(ctx)
	}
	if got.verdict == taken && a.req.waits {
		got = a.queue(ctx)
	}
	if got.verdict == granted {
		return got.hold, nil
	}
	if got.verdict == taken {
		got.err = ErrNotAcquired
	}
	return nil, a.fail(got.err)
}

// fail wraps the error of an acquire, with what the holder's lease had left if a holder was the reason.
func (a *acquisition) fail(err error) error {
	e := &Error{Op: a.req.op, Lock: a.lock.name, Err: err}
	if errors.Is(err, ErrNotAcquired) {
		e.TTL = a.ttl
	}
	return e
}

// board is where it leaves word of what it asks, and reads what others were answered.
func (a *acquisition) board() *gate.Board {
	if a.line == nil {
		return &a.alone
	}
	return a.line
}

// answer is what one look at the lock, or a series of them, came to.
type answer struct {
	verdict verdict
	hold    *Hold         // when granted
	ttl     time.Duration // when taken: the lease of the holder
	err     error         // when failed or unanswered
	since   time.Duration // when unanswered: the instant from which nothing was heard
}

type verdict int

const (
	granted    verdict = iota + 1
	taken              // somebody else has it
	failed             // the acquire is over
	unanswered         // another look may fare better
)

// try looks until it gets an answer, or the retry budget or the caller's patience is over.
func (a *acquisition) try(ctx context.Context) answer {
	if a.spent() {
		return answer{verdict: failed, err: a.failure}
	}
	for {
		got := a.look(ctx)
		if got.verdict != unanswered {
			a.failure, a.ttl, a.heard = nil, got.ttl, a.c.set.now()
			a.backoff.Reset()
			return got
		}
		if err := a.pause(ctx, got); err != nil {
			return answer{verdict: failed, err: err}
		}
	}
}

// look makes one attempt, by whatever way the owner's state demands. The seat's turn keeps the order among the owner's own
// commands; it is held for one attempt only, so that Unlock never waits for a series of them.
func (a *acquisition) look(ctx context.Context) answer {
	if err := a.cancelled(ctx); err != nil {
		return answer{verdict: failed, err: err}
	}
	for !a.seat.turn.take(a.patience(a.c.set.now()), ctx.Done(), a.c.end.closing) {
		if err := a.interrupted(ctx); err != nil { // the owner's other commands take long; that is no outage
			return answer{verdict: failed, err: err}
		}
	}
	defer a.seat.turn.pass()
	t := a.seat.current()
	if t != nil && t.startsAfresh() {
		t.abandon(ctx)
		t = nil
	}
	if t != nil {
		return a.nested(ctx, t)
	}
	return a.fresh(ctx)
}
