package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// The reference of FuzzSequence: who holds what, how often, and until when, as the callers were told. It knows nothing of
// retries, orphans or settling: a mishap on the way of a command is to change nothing. Where a lease may or may not be over,
// either answer is right, and the reference takes it over.

// verdict is how a verb ended; several of them as a sum are what is allowed.
type verdict uint

const (
	fine     verdict = 1 << iota
	inTheWay         // taken
	gotLost          // ErrLost
	notMine          // ErrNotHeld alone
	refused          // by the server, for good
	unheard          // the error of the transport, or the end of the caller's patience while it lasts
	unfit            // not for this kind of hold
	odd              // anything else
)

func verdictOf(err error) verdict {
	switch {
	case err == nil:
		return fine
	case errors.Is(err, rlock.ErrLost):
		return gotLost
	case errors.Is(err, rlock.ErrNotAcquired):
		return inTheWay
	case errors.Is(err, rlock.ErrNotHeld):
		return notMine
	case strings.Contains(err.Error(), string(errOutOfMemory)):
		return refused
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, io.EOF), strings.Contains(err.Error(), string(errLoading)):
		return unheard
	case strings.Contains(err.Error(), "only a fixed lease"):
		return unfit
	default:
		return odd
	}
}

// player is one owner.
type player struct {
	client    *rlock.Client
	ctx       context.Context
	goroutine bool
	holds     map[string]*record // by name, what it holds or has lost and not given back
	over      []*rlock.Hold      // given back
}

// record is an owner's hold as its holder was told of it.
type record struct {
	levels []level
	field  string
	most   time.Time // no lease of its fixed levels, nor what the watchdog asked for, reaches beyond that
	gone   time.Time // when an operator took it away; the holder may not know yet
	lost   bool      // the holder knows
	vague  bool      // a late command may have changed the count in Redis; the next command mends that
	wild   bool      // it was taken away, and a late acquire of its own has made it anew: nothing is certain any more
}

type level struct {
	hold  *rlock.Hold // nil if it was taken by a verb
	fixed time.Time   // when its lease is over at the earliest; zero if it is renewed
}

func (r *record) watched() bool {
	return slices.ContainsFunc(r.levels, func(l level) bool { return l.fixed.IsZero() })
}

// certain: the hold goes on until then, whatever happens, if no operator meddles.
func (r *record) certain(until time.Time) bool {
	if r.lost || !r.gone.IsZero() {
		return false
	}
	return r.watched() || slices.ContainsFunc(r.levels, func(l level) bool {
		return until.Before(l.fixed.Add(-time.Second)) // the largest margin
	})
}

// over: the holder knows that it holds nothing any more.
func (r *record) over() bool {
	if r.lost || !r.watched() && time.Now().After(r.most) {
		return true
	}
	return !r.gone.IsZero() && !r.wild && time.Since(r.gone) > learns
}

const (
	watchdogLease = 30 * time.Second
	learns        = watchdogLease/3 + 3*silence // a renewal, and one that fails before it
	opTime        = 6 * time.Second             // what no verb exceeds here, mishap and settling included
)

// world is the players, the server and what the reference knows of it.
type world struct {
	t       require.TestingT
	mini    *miniredis.Miniredis
	raw     *redis.Client
	wires   *wires
	players [3]*player
	strays  map[string]time.Time // fields that nobody holds and that may stand until then
	story   []string             // what was done, for a failure
}

var lockNames = []string{"order:42", "order:43"}

// fields is what Redis holds of a lock.
func (w *world) fields(name string) map[string]string {
	all, err := w.raw.HGetAll(context.Background(), name).Result()
	require.NoError(w.t, err)
	return all
}

// mayAcquire is what an acquire may come to.
func (w *world) mayAcquire(p *player, name string) verdict {
	r := p.holds[name]
	switch {
	case r == nil:
		return w.mayEnter(p, name)
	case r.certain(time.Now().Add(opTime)):
		return fine
	case p.goroutine: // it starts afresh if it was the fixed lease that ended the hold
		return gotLost | w.mayEnter(p, name) | w.mayGoOn(r)
	default:
		return gotLost | w.mayGoOn(r)
	}
}

// mayGoOn: a hold that is not over and was not taken away may still be there.
func (w *world) mayGoOn(r *record) verdict {
	if r.over() || !r.gone.IsZero() && !r.wild {
		return 0
	}
	return fine
}

// mayEnter is what an acquire by an owner who holds nothing may come to.
func (w *world) mayEnter(p *player, name string) verdict {
	standing := w.fields(name)
	for _, other := range w.players {
		r := other.holds[name]
		if other == p || r == nil || !r.gone.IsZero() || standing[r.field] == "" {
			continue
		}
		if r.certain(time.Now().Add(opTime)) {
			return inTheWay
		}
	}
	if len(standing) > 0 { // a hold that is ending, or what a late command left
		return fine | inTheWay
	}
	return fine
}

// entered notes a grant. Between from and now the lease began; 0 is the watchdog's.
func (w *world) entered(p *player, name string, h *rlock.Hold, from time.Time, lease time.Duration) {
	standing := w.fields(name)
	require.Len(w.t, standing, 1, "one field for one holder of %s", name)
	r := p.holds[name]
	for field, count := range standing {
		if r == nil || field != r.field {
			require.True(w.t, r == nil || p.goroutine && !r.certain(time.Now()), "a new hold before the old one was over")
			require.Equal(w.t, "1", count)
			require.True(w.t, strings.HasPrefix(field, p.client.ID()+":"), "%s is of another Client", field)
			if r != nil {
				p.dropHandles(r)
			}
			r = &record{field: field}
			p.holds[name] = r
		}
	}
	l := level{hold: h}
	if lease > 0 {
		l.fixed = from.Add(lease)
		r.most = later(r.most, time.Now().Add(lease))
	}
	r.levels = append(r.levels, l)
	r.vague = false
}

func (p *player) dropHandles(r *record) {
	for _, l := range r.levels {
		if l.hold != nil {
			p.over = append(p.over, l.hold)
		}
	}
}

// left notes that a level was given back.
func (w *world) left(p *player, name string, i int) {
	r := p.holds[name]
	if r.watched() {
		r.most = later(r.most, time.Now().Add(watchdogLease))
	}
	if h := r.levels[i].hold; h != nil {
		p.over = append(p.over, h)
	}
	r.levels = slices.Delete(r.levels, i, i+1)
	r.vague = false
	if len(r.levels) == 0 {
		delete(p.holds, name)
	}
}

// mayLeave is what the give-back of a level may come to, by what was known of the hold before.
func (r *record) mayLeave(over, certain bool, struck mishap) verdict {
	switch {
	case certain:
		return fine
	case over, struck == noMishap && !r.gone.IsZero() && !r.wild:
		return gotLost
	default: // it may be lost; or it was taken away, and the answer that says so comes to an attempt that follows a lost one
		return fine | gotLost
	}
}

// check compares what the callers know with what Redis holds.
func (w *world) check() {
	for _, name := range lockNames {
		standing := w.fields(name)
		require.LessOrEqual(w.t, len(standing), 1, "%s has several holders: %v", name, standing)
		for i, p := range w.players {
			w.checkRecord(name, fmt.Sprintf("player %d on %s", i, name), p, standing)
		}
		for field := range standing {
			until, known := w.strays[field]
			require.True(w.t, known, "%s was left behind on %s", field, name)
			require.False(w.t, time.Now().After(until), "%s still stands on %s", field, name)
		}
	}
}

// checkRecord also takes what is explained out of what stands in Redis, and takes over what the clock has decided.
func (w *world) checkRecord(name, who string, p *player, standing map[string]string) {
	h, held := p.client.NewLock(name).Held(p.ctx)
	r := p.holds[name]
	if r == nil {
		require.False(w.t, held, "%s holds what it gave back", who)
		return
	}
	if r.certain(time.Now()) {
		require.True(w.t, held, "%s: a false alarm", who)
	}
	if r.over() {
		require.False(w.t, held, "%s was not told", who)
	}
	count, stands := standing[r.field]
	if held && r.gone.IsZero() {
		require.True(w.t, stands, "%s believes to hold", who)
		if !r.vague {
			require.Equal(w.t, strconv.Itoa(len(r.levels)), count, "levels of %s", who)
		}
		if ttl := w.raw.PTTL(context.Background(), name).Val(); ttl != -1 { // else an operator's PERSIST
			require.Greater(w.t, ttl+time.Millisecond, time.Until(h.ValidUntil()), "%s believes to hold for too long", who)
		}
	}
	if !held {
		r.lost = true
	}
	if stands { // after the holder was told, its lease still runs for a while
		delete(standing, r.field)
		w.strays[r.field] = time.Now().Add(2 * watchdogLease)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
