package rlock

import (
	"cmp"
	"context"
	"time"

	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
)

// giveBack returns one level. Nothing of it can be cancelled: a lock that is not given back because a request ended is the
// fault users hit most. The order is what makes it safe: first the holder's context ends and the renewal with it, then the
// release is sent, so that nobody can get in while this holder believes that it holds.
func (h *Hold) giveBack(ctx context.Context) error {
	if !h.claim() {
		return ErrNotHeld
	}
	return h.giveBackClaimed(ctx)
}

// giveBackClaimed is giveBack for who has claimed the level.
func (h *Hold) giveBackClaimed(ctx context.Context) error {
	h.cancelContext(ErrReleased) // no effect if it ended for another reason
	t := h.t
	g := giving{t: t, h: h, began: t.c.set.now()}
	orderly := t.seat.turn.take(t.c.set.retryBudget+t.c.answer, nil, nil)
	g.leave()
	err := g.tellRedis(ctx, orderly)
	if orderly {
		t.seat.turn.pass()
	}
	if g.last {
		t.c.table.forget(t)
	}
	if err == nil {
		err = g.over
	}
	return err
}

// claim makes the caller the only one who gives this level back. What Held shows cannot be claimed.
func (h *Hold) claim() bool {
	h.t.seat.mu.Lock()
	if h.claimed || h.shown != nil {
		h.t.seat.mu.Unlock()
		return false
	}
	tell := h.claimLocked()
	h.t.seat.mu.Unlock()
	tell.now()
	return true
}

// claimLocked first lets the clock end what is over by now, so that the level's context tells a loss from a release.
func (h *Hold) claimLocked() telling {
	now := h.t.c.set.now()
	tell := h.t.checkLocked(now)
	h.cause = cmp.Or(h.endLocked(), ErrReleased)
	h.claimed, h.claimedAt = true, now
	return tell
}

// giving is one level on its way back.
type giving struct {
	t        *tenure
	h        *Hold
	began    time.Duration
	remain   int   // the count that is left
	last     bool  // the tenure goes with this level
	lost     error // the hold ended before
	over     error // the level alone ended before
	needless bool  // the tenure ends with this level although others remain: their count is nobody's concern any more
	doubt    bool  // an attempt of this give-back, sent while the hold was certain, may have released it
}

// leave takes the level out of the tenure, and ends the tenure with its last level: before anything is sent, so that no
// renewal starts any more.
func (g *giving) leave() {
	t := g.t
	t.seat.mu.Lock()
	tell := t.checkLocked(t.c.set.now())
	t.removeLocked(g.h)
	g.remain, g.lost, g.over = len(t.levels), t.ended, g.h.over
	g.last = g.remain == 0 && t.detachLocked()
	switch {
	case g.lost != nil:
	case g.last:
		tell = t.endLocked(ErrReleased)
	case t.allOverLocked(): // those who are left were told that they hold nothing any more, and the field goes in time
		tell, g.needless = t.endLocked(ErrMaxHold), true
	}
	over := t.ended != nil
	t.seat.mu.Unlock()
	if over {
		t.c.dog.Remove(t.entry)
	}
	tell.now()
}

// tellRedis does what is left to do on the wire. It is called before the turn is passed, so that the owner's next acquire
// already knows of an orphan. orderly is false if another command of the owner did not end in time: then all is left to
// the background.
func (g *giving) tellRedis(ctx context.Context, orderly bool) error {
	switch {
	case g.lost != nil && g.last:
		g.t.disown(ctx, g.lost)
		return g.lost
	case g.lost != nil || g.needless:
		return g.lost
	case orderly:
		return g.send(ctx)
	default:
		g.later(ctx)
		return wire.NoAnswer(g.t.c.set.now() - g.began)
	}
}

// disown makes an orphan of the field of a lost tenure, which may still stand in Redis: its lease there is longer than what
// the holder was told. If the server itself said that the field is gone, there is nothing to do.
func (t *tenure) disown(ctx context.Context, cause error) {
	t.seat.mu.Lock()
	again := t.disowned
	t.disowned = true
	t.seat.mu.Unlock()
	if cause != errGone && !again { //nolint:errorlint // that very one
		t.c.abandon(ctx, t.orphan())
	}
}

func (t *tenure) orphan() *orphan {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	return &orphan{lock: t.lock, field: t.field, until: max(t.stands, t.c.set.now()+t.c.set.watchdog)}
}

// abandon drops a lost tenure although its levels were not given back.
func (t *tenure) abandon(ctx context.Context) {
	t.seat.mu.Lock()
	cause, mine := t.ended, t.detachLocked()
	t.seat.mu.Unlock()
	if mine {
		t.c.dog.Remove(t.entry)
		t.disown(ctx, cause)
		t.c.table.forget(t)
	}
}

// send tells Redis, until it answers or the retry budget is over.
func (g *giving) send(ctx context.Context) error {
	var pauses wire.Backoff
	for first := true; ; first = false {
		r, sent, decode := g.attempt(ctx, first)
		if r.Outcome == wire.Done {
			outcome, err := decode(r.Value)
			if err != nil {
				g.later(ctx)
				return err
			}
			return g.conclude(outcome)
		}
		g.suspect(r, sent)
		pause := pauses.Next()
		if !r.Retry || g.t.c.set.now()+pause >= g.began+g.t.c.set.retryBudget {
			g.later(ctx)
			return g.t.c.closedOr(r.Err)
		}
		time.Sleep(pause)
	}
}

// attempt sends one command, the first time a hand-over if somebody is parked. One that is refused is followed by a release at
// once: to give back needs fewer rights, for instance.
func (g *giving) attempt(ctx context.Context, first bool) (
	r wire.Reply, sent time.Duration, decode func(any) (lua.ReleaseOutcome, error),
) {
	if first {
		r, sent, offered := g.handOver(ctx)
		if refusedAtOnce := r.Outcome == wire.Refused && g.t.c.set.now()-sent < g.t.c.answer; offered && !refusedAtOnce {
			return r, sent, lua.DecodeHandOver
		}
	}
	r, sent = g.t.tellCount(ctx, g.remain)
	return r, sent, lua.DecodeRelease
}

// suspect notes that an attempt which was not answered may have released the field. Only one that was sent while the hold was
// certain can be that.
func (g *giving) suspect(r wire.Reply, sent time.Duration) {
	g.doubt = g.doubt || r.Outcome != wire.Refused && sent < g.t.until()
}

// conclude draws the conclusion from the script's answer. That the field is not there is a success only if an earlier attempt of
// this very give-back may have removed it; else the hold was lost before. An inner level can meet that when another goroutine of
// the owner gave back the rest without the owner's turn, and the background released the field: that is no loss either.
func (g *giving) conclude(outcome lua.ReleaseOutcome) error {
	if outcome != lua.NotHeld || g.remain == 0 && g.doubt {
		return nil
	}
	g.t.end(errGone)
	if g.remain > 0 && g.t.over() == ErrReleased { //nolint:errorlint // that very one
		return nil
	}
	return errGone
}

// later leaves to the background what could not be told to Redis: the level is given back all the same.
func (g *giving) later(ctx context.Context) {
	if g.remain == 0 {
		g.t.c.abandon(ctx, g.t.orphan())
		return
	}
	t := g.t // so that g itself need not live on
	t.c.chores.start(func() { t.recount(ctx, nil) })
}
