package rlock_test

// The faults of the subscriber that all waiters of a process share, and of asking in its stead: P6, P7, P11 and P12.

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/pubsub"
	"github.com/rlock-go/rlock/rlock"
)

// Attacks promises P3 and P7 where subscriptions are a scarce good: 5,000 names are waited for in one process. One
// connection hears for all and nobody fails. Those whose lock is freed get in, the others give up, and nothing is left
// of it. Not parallel, for so much work at a time would make other tests late.
func TestFault_P6_FiveThousandContendedNamesShareOneConnection(t *testing.T) {
	const locks, freed = 5000, 500
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	c := clientOf(t, srv, rlock.WithFallbackLook(time.Hour))
	names := takenBySomebody(t, raw, locks)
	ctx, giveUp := context.WithCancel(t.Context())
	all := &line{giveUp: giveUp, done: make(chan error, locks)}
	for _, name := range names {
		go func() { all.done <- c.NewLock(name).Lock(ctx) }()
	}
	await := func(condition func() bool, what string) { // a busy machine needs a while for as much
		require.Eventually(t, condition, 3*time.Minute, 50*time.Millisecond, what)
	}
	await(func() bool { return scriptsRun(t, raw) >= 2*locks }, "each has looked twice")
	await(func() bool { return len(raw.PubSubChannels(t.Context(), "*").Val()) == locks }, "all are subscribed")
	assert.Equal(t, 1, subscribers(t, raw))
	require.Empty(t, all.done, "nobody failed")
	freeAll(t, raw, names[locks-freed:])
	for range freed {
		require.NoError(t, inTime(t, time.Minute, all.done, "a waiter"))
	}
	all.leave(t, locks-freed)
	await(func() bool { return c.Leftovers().Channels == 0 && subscribers(t, raw) == 0 }, "all is given back")
}

// Attacks promise P7: the server has no room for one connection more, so nobody can subscribe. Waiters ask from time to
// time instead of failing, and when there is room again they are woken like everybody.
func TestFault_P6_WithoutRoomForASubscriberWaitersPoll(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := newRigOn(t, srv)
	rdb := srv.Client(t, func(o *redis.Options) { o.PoolSize = 1 })
	require.NoError(t, rdb.Ping(t.Context()).Err())
	quiet := rlock.WithLogger(slog.New(slog.DiscardHandler))
	l := newClient(t, rdb, rlock.WithFallbackLook(time.Minute), quiet).NewLock(r.key)
	holder, waiter := someone(), someone()
	require.NoError(t, r.rival.Lock(holder))
	clients := strings.Count(r.raw.ClientList(t.Context()).Val(), "\n")
	require.NoError(t, r.raw.ConfigSet(t.Context(), "maxclients", strconv.Itoa(clients)).Err())
	got := outcome(func() error { return l.Lock(waiter) })
	eventually(t, func() bool { return statOf(t, r.raw, "stats", "rejected_connections:") != "0" }, "no room")
	passed(500 * time.Millisecond)
	require.Zero(t, subscribers(t, r.raw))
	require.NoError(t, r.rival.Unlock(holder))
	require.NoError(t, inTime(t, soonEnough, got, "the waiter"))

	require.NoError(t, r.raw.ConfigSet(t.Context(), "maxclients", "1000").Err())
	next := someone()
	got = outcome(func() error { return l.Lock(next) })
	r.asleep(1)
	require.NoError(t, l.Unlock(waiter))
	require.NoError(t, inTime(t, soonEnough, got, "the next one"))
	require.NoError(t, l.Unlock(next))
}

// Attacks promises P2 and P3, nil means held and given back, an error neither: a crowd comes for many names at once, and goes
// at once, for which the connections need longer than the read time-out. Redis answers each command as soon as it has it.
// Whoever waits for a connection waits for no answer: everybody gets in and out, by one command each.
func TestFault_P6_ACrowdOnManyNamesIsNoOutage(t *testing.T) {
	t.Parallel()
	const crowd, connections = 80, 4
	r := newRigOn(t, redistest.Start(t))
	r.warm()
	c := r.clientWith(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: answerTime, PoolSize: connections},
		rlock.WithRetryBudget(2*time.Second))
	sent := faultproxy.Or(acquireScript, releaseScript)
	before := r.proxy.Received(sent)
	r.proxy.DelayReplies(50*time.Millisecond, sent)
	holds, out := make(chan *rlock.Hold, crowd), make(chan error, crowd)
	atOnce := func(call func(i int) error) {
		for i := range crowd {
			go func() { out <- call(i) }()
		}
		for range crowd {
			require.NoError(t, inTime(t, 2*soonEnough, out, "somebody of the crowd"))
		}
	}
	atOnce(func(i int) error {
		h, err := c.NewLock(nameOf(t, i)).Acquire(someone())
		holds <- h
		return err
	})
	atOnce(func(int) error { return (<-holds).Release(context.Background()) })
	const all = 2 * crowd
	assert.Less(t, r.proxy.Received(sent)-before, all+all/5, "a busy machine may lose one or another answer")
	r.eventually(func() bool { return c.Leftovers() == rlock.Leftovers{} }, "nothing is left")
}

// Attacks promises P3 and P7: who gives up leaves no subscription, and whoever comes next is woken. For a second the
// answers to SUBSCRIBE and UNSUBSCRIBE are lost, late beyond all patience, or the requests are held up, while waiters
// come and go and one stays.
func TestFault_P7_SubscriptionsThatTimeOutLeaveNothingAndPoisonNothing(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, redistest.Start(t), rlock.WithFallbackLook(time.Minute), rlock.WithWatchdogTimeout(4*time.Second))
	r.warm()
	names := takenBySomebody(t, r.raw, 11)
	names, r.key = names[1:], names[0]
	patient, stays := someone(), r.client.NewLock(r.key)
	stayed := outcome(func() error { return stays.Lock(patient) }) // so that the connection is needed all the time
	about := faultproxy.Or(faultproxy.Command("subscribe"), faultproxy.Command("unsubscribe"))
	end := mishaps(30*time.Millisecond,
		func() { r.proxy.DropReply(1, about) },
		func() { r.proxy.HoldRequest(rand.N(200*time.Millisecond), 1, about) },
		func() { r.proxy.DelayReplies(400*time.Millisecond, about) }, // the hub's patience is 300 ms
		func() { r.proxy.DelayReplies(0, about) },
	)
	require.NoError(t, crowd(30, 600, func(int) error {
		ctx, cancel := context.WithTimeout(someone(), rand.N(100*time.Millisecond))
		defer cancel()
		err := r.client.NewLock(names[rand.N(len(names))]).Lock(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return errors.Join(errors.New("not the end of its context"), err)
	}))
	end()
	r.proxy.Heal()
	r.requireChannels(1)
	for _, name := range names {
		waiter, l := someone(), r.client.NewLock(name)
		got := outcome(func() error { return l.Lock(waiter) })
		r.eventually(func() bool { return len(r.raw.PubSubChannels(t.Context(), rlock.ChannelOf(name)).Val()) == 1 }, "subscribed")
		freeAll(t, r.raw, []string{name})
		require.NoError(t, inTime(t, soonEnough, got, "the next waiter"))
		require.NoError(t, l.Unlock(waiter))
	}
	r.requireChannels(1)
	freeAll(t, r.raw, []string{r.key})
	require.NoError(t, inTime(t, soonEnough, stayed, "the waiter that stayed"))
	require.NoError(t, stays.Unlock(patient))
	r.requireChannels(0)
	r.idle(10 * time.Second)
}

// Attacks promise P10, everything ends: Close comes while a hundred callers wait, give up, get in and leave, at every
// moment of that. It takes no time worth naming, tells each of them, and leaves no goroutine, connection or channel. Not
// parallel, because it counts goroutines.
func TestFault_P11_CloseWhileAHundredWaitersComeAndGo(t *testing.T) {
	const callers = 100
	srv := redistest.Start(t)
	raw := srv.Raw(t)
	taken := takenBySomebody(t, raw, 5)
	for round := range 4 {
		before := goleak.IgnoreCurrent()
		rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
		c, err := rlock.New(rdb, rlock.WithHub(pubsub.Config{Linger: time.Minute}))
		require.NoError(t, err)
		var calls atomic.Int64
		all := outcome(func() error {
			return crowd(callers, callers, func(i int) error { return comeAndGo(c, taken, i, &calls) })
		})
		eventually(t, func() bool { return calls.Load() > 3*callers && c.Leftovers().Channels > 0 }, "they come and go")
		time.Sleep(rand.N(10 * time.Millisecond)) // at any moment
		closing := func() error { return c.Close(context.Background()) }
		one, two := outcome(closing), outcome(closing)
		require.NoError(t, inTime(t, soonEnough, one, "Close"), "round %d", round)
		require.NoError(t, inTime(t, soonEnough, two, "the other Close"))
		require.NoError(t, inTime(t, soonEnough, all, "the callers"))
		assert.Equal(t, rlock.Leftovers{}, c.Leftovers())
		eventually(t, func() bool { return ofTheLibrary(false) == "" }, "a goroutine remains")
		require.NoError(t, rdb.Close())
		eventually(t, func() bool { return subscribers(t, raw) == 0 }, "the subscriber's connection")
		goleak.VerifyNone(t, before, redistest.IgnoreServers())
	}
}

// Attacks what promise P7 costs, waiters that sleep instead of asking: of all who wait, only one in each process asks
// when the lock is given back. Five times as many waiters make no grant dearer.
func TestFault_P12_AGrantCostsAScriptForEachProcessNotForEachWaiter(t *testing.T) {
	t.Parallel()
	const processes = 6
	for _, waiters := range []int{6, 30} {
		t.Run(strconv.Itoa(waiters)+" waiters each", func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			raw := srv.Raw(t)
			name := takenBySomebody(t, raw, 1)[0]
			done := make(chan error, processes*waiters)
			for range processes {
				c := clientOf(t, srv, rlock.WithFallbackLook(time.Minute))
				waitAll(t, c, waiters, func(context.Context, int) error {
					err := c.NewLock(name).Do(someone(), func(context.Context) error { return nil })
					done <- err
					return err
				})
			}
			watch(t, srv).settle()
			before := scriptsRun(t, raw)
			freeAll(t, raw, []string{name})
			for range processes * waiters {
				require.NoError(t, inTime(t, soonEnough, done, "a waiter"))
			}
			grants := processes * waiters
			each := float64(scriptsRun(t, raw)-before) / float64(grants)
			t.Logf("%.2f scripts for each of %d grants", each, grants)
			assert.LessOrEqual(t, each, float64(processes+2), "a look of each process, one more of the next in line, a release")
		})
	}
}

// comeAndGo calls until the Client is closed: for locks that are taken, with little patience, and for a free one.
func comeAndGo(c *rlock.Client, taken []string, i int, calls *atomic.Int64) error {
	for {
		calls.Add(1)
		name, patience := taken[rand.N(len(taken))], rand.N(10*time.Millisecond)
		if i%4 == 0 {
			name, patience = c.ID(), time.Minute // contended among the callers
		}
		ctx, cancel := context.WithTimeout(someone(), patience)
		err := c.NewLock(name).Do(ctx, func(context.Context) error { return nil })
		cancel()
		switch {
		case errors.Is(err, rlock.ErrClosed):
			return nil
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
}

// requireChannels waits until the hub and the server know so many channels and no more.
func (r *rig) requireChannels(n int) {
	r.t.Helper()
	r.eventually(func() bool { return r.client.Leftovers().Channels == n }, "what the hub knows")
	r.eventually(func() bool { return len(r.raw.PubSubChannels(r.t.Context(), "*").Val()) == n }, "what the server knows")
}

// statOf reads one number of INFO.
func statOf(t *testing.T, raw *redis.Client, section, name string) string {
	t.Helper()
	info, err := raw.Info(t.Context(), section).Result()
	require.NoError(t, err)
	_, after, found := strings.Cut(info, name)
	require.True(t, found, name)
	value, _, _ := strings.Cut(after, "\r")
	return value
}

// takenBySomebody makes locks that another client holds for long.
func takenBySomebody(t *testing.T, raw *redis.Client, n int) (names []string) {
	t.Helper()
	_, err := raw.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			names = append(names, nameOf(t, i))
			p.HSet(t.Context(), names[i], "8743c9c0-0795-4907-87fd-6c719a6b4586:1", 1)
			p.PExpire(t.Context(), names[i], time.Hour)
		}
		return nil
	})
	require.NoError(t, err)
	return names
}

// freeing unlocks all of them at one moment, as their holder would.
const freeing = `for i, key in ipairs(KEYS) do redis.call('DEL', key) redis.call('PUBLISH', ARGV[i], '0') end return 1`

func freeAll(t *testing.T, raw *redis.Client, names []string) {
	t.Helper()
	require.NoError(t, raw.Eval(t.Context(), freeing, names, channelsOf(names)...).Err())
}

// killAndFree kills every subscriber before, so that nobody hears of it.
func killAndFree(t *testing.T, raw *redis.Client, names []string) {
	t.Helper()
	_, err := raw.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		p.ClientKillByFilter(t.Context(), "TYPE", "pubsub")
		p.Eval(t.Context(), freeing, names, channelsOf(names)...)
		return nil
	})
	require.NoError(t, err)
}

func channelsOf(names []string) (channels []any) {
	for _, name := range names {
		channels = append(channels, rlock.ChannelOf(name))
	}
	return channels
}

// subscribers counts the connections that the server publishes to.
func subscribers(t *testing.T, raw *redis.Client) int {
	t.Helper()
	list, err := raw.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	require.NoError(t, err)
	return strings.Count(list, "\n")
}
