package rlock_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/rlock"
)

// Several Clients add to one variable, which nothing but the lock protects, while replies are lost, late and commands run
// twice. Every unlock is a success, and every addition counts.
func TestP1_NoUpdateIsLostUnderFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const clients, workers, rounds = 3, 2, 15
	var crew sync.WaitGroup
	plain := 0
	for range clients {
		l, end := r.unluckyLock(rlock.WithWatchdogTimeout(4 * time.Second))
		defer end()
		for range workers {
			crew.Go(func() {
				ctx := someone()
				for range rounds {
					if !assert.NoError(t, l.Lock(ctx)) {
						return
					}
					seen := plain
					time.Sleep(rand.N(time.Millisecond))
					plain = seen + 1
					if !assert.NoError(t, l.Unlock(ctx)) {
						return
					}
				}
			})
		}
	}
	crew.Wait()
	assert.Equal(t, clients*workers*rounds, plain)
}

// Clients fall into black holes for longer than their lease again and again, and their late commands arrive when the holes
// open. From the return of an acquire to the last moment at which the holder could believe in its hold nobody else is inside.
func TestP1_HoldsNeverOverlapUnderOutages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const clients, workers, length = 3, 2, 4 * time.Second
	var (
		mu     sync.Mutex
		spans  []span
		losses int
		crew   sync.WaitGroup
	)
	for range clients {
		l, end := r.outageLock()
		defer end()
		for range workers {
			crew.Go(func() {
				for until := instant() + length; instant() < until; {
					s, lost, ok := spanOf(l)
					mu.Lock()
					if ok {
						spans = append(spans, s)
					}
					if lost {
						losses++
					}
					mu.Unlock()
				}
			})
		}
	}
	crew.Wait()
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		require.LessOrEqual(t, spans[i-1].to, spans[i].from, "two holders at once: %v and %v", spans[i-1], spans[i])
	}
	t.Logf("%d holds, %d of them lost", len(spans), losses)
	assert.Greater(t, len(spans), 10)
	assert.Positive(t, losses, "an attack that cost nobody a hold proves nothing")
}

// Holders fall into a black hole; rivals with a direct line wait for the leases to end. When a rival is inside, the holder
// has been told.
func TestP1_TheLossIsToldBeforeTheRivalGetsIn(t *testing.T) {
	t.Parallel()
	const lease, locks = 900 * time.Millisecond, 20
	late := watchStalls(t)
	r := newRig(t, rlock.WithWatchdogTimeout(lease), rlock.WithRetryBudget(100*time.Millisecond))
	rivals := r.newClient(r.srv.Addr())
	holds, told := make([]*rlock.Hold, locks), make([]context.Context, locks)
	for i := range locks {
		h, err := r.client.NewLock(r.key + strconv.Itoa(i)).Acquire(someone())
		require.NoError(t, err)
		holds[i], told[i] = h, h.Context()
	}
	passed(lease / 2) // the deadline is a renewal's by now
	r.proxy.BlackHole(true)
	require.NoError(t, crowd(locks, locks, func(i int) error {
		rival := rivals.NewLock(r.key + strconv.Itoa(i))
		ctx := someone()
		if err := rival.Lock(ctx); err != nil {
			return err
		}
		held, end := holds[i].Held(), told[i].Err()
		assert.False(t, held, "the clock says so, however late a timer is")
		if late.late() < rlock.Margin(lease)/2 {
			assert.Error(t, end, "the context has ended")
		}
		return rival.Unlock(ctx)
	}))
	for i, h := range holds {
		requireEnd(t, told[i])
		require.ErrorIs(t, context.Cause(told[i]), rlock.ErrLost)
		require.ErrorIs(t, h.Release(t.Context()), rlock.ErrLost)
	}
	r.proxy.Heal()
	r.idle(10 * time.Second)
}

// Another can get in as soon as a release has been sent. By then all who could believe in the hold were told of its end.
func TestP1_TheHolderIsToldBeforeTheReleaseIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := redis.NewClient(&redis.Options{Addr: r.srv.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	l, owner := newClient(t, rdb).NewLock(r.key), someone()
	var about []*rlock.Hold // what the next release is about
	releases := 0
	rdb.AddHook(ears{func(cmd redis.Cmder) {
		if !slices.Contains(cmd.Args(), any(rlock.ChannelOf(r.key))) {
			return
		}
		releases++
		for _, h := range about {
			assert.ErrorIs(t, context.Cause(h.Context()), rlock.ErrReleased)
			assert.False(t, h.Held())
		}
	}})
	outer, err := l.Acquire(owner)
	require.NoError(t, err)
	inner, err := l.Acquire(owner)
	require.NoError(t, err)
	about = []*rlock.Hold{inner}
	require.NoError(t, inner.Context().Err())
	require.NoError(t, inner.Release(owner))
	require.True(t, outer.Held())

	shown, held := l.Held(owner)
	require.True(t, held)
	about = []*rlock.Hold{outer, shown}
	require.NoError(t, errors.Join(outer.Context().Err(), shown.Context().Err()))
	require.NoError(t, outer.Release(owner))
	require.Equal(t, 2, releases)
}

// span is a time in which a holder may rely on its hold.
type span struct{ from, to time.Duration }

// spanOf takes the lock and watches the hold until it is lost or given back.
func spanOf(l *rlock.Lock) (s span, lost, ok bool) {
	h, err := l.Acquire(someone(), rlock.Wait(time.Second))
	if err != nil {
		return s, false, false
	}
	s.from = instant()
	for end := s.from + rand.N(300*time.Millisecond); instant() < end; {
		now := instant() // before Held compares: what it says then is true at now
		if !h.Held() {
			lost = true
			break
		}
		s.to, ok = now, true
		time.Sleep(200 * time.Microsecond)
	}
	_ = h.Release(context.Background())
	return s, lost, ok
}

// unluckyLock is the lock of another Client, behind a network of its own that loses and repeats commands. A repeated acquire
// is left out: it is a key without a holder for one lease, and no promise is made about that.
func (r *rig) unluckyLock(opts ...rlock.Option) (l *rlock.Lock, end func()) {
	r.t.Helper()
	p := faultproxy.New(r.t, r.srv.Addr())
	l = r.newClient(p.Addr(), opts...).NewLock(r.key)
	return l, mishaps(15*time.Millisecond,
		func() { p.CutAfterWrite(1, acquireScript) },
		func() { p.CutAfterWrite(1, releaseScript) },
		func() { p.DropReply(1, acquireScript) },
		func() { p.DropReply(1, releaseScript) },
		func() { p.HoldRequest(30*time.Millisecond, 1, acquireScript) },
		func() { p.HoldRequest(30*time.Millisecond, 1, releaseScript) },
		func() { p.RepeatRequest(10*time.Millisecond, 2, releaseScript) },
		p.Cut,
		p.Heal, p.Heal,
	)
}

// outageLock is the lock of another Client whose network is a black hole half of the time.
func (r *rig) outageLock() (l *rlock.Lock, end func()) {
	r.t.Helper()
	p := faultproxy.New(r.t, r.srv.Addr())
	options := &redis.Options{Addr: p.Addr(), ReadTimeout: 50 * time.Millisecond, WriteTimeout: 50 * time.Millisecond}
	l = r.clientWith(options, rlock.WithWatchdogTimeout(150*time.Millisecond), rlock.WithRetryBudget(50*time.Millisecond),
		rlock.WithLogger(slog.New(slog.DiscardHandler))).NewLock(r.key)
	stop := mishaps(60*time.Millisecond,
		func() { p.BlackHole(true); time.Sleep(rand.N(300 * time.Millisecond)) },
		func() { p.BlackHole(false); time.Sleep(rand.N(300 * time.Millisecond)) },
		func() { p.BlackHole(true); p.Cut() },
		func() { p.BlackHole(false) },
	)
	return l, func() { stop(); p.Heal() }
}
