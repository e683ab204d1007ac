package rlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/internal/gate"
	"github.com/rlock-go/rlock/internal/watchdog"
	"github.com/rlock-go/rlock/internal/wire"
	"github.com/rlock-go/rlock/lua"
	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/pubsub"
)

// Client makes locks on one deployment of Redis and looks after the holds taken through it. It is safe for concurrent use;
// a process needs one. Two Clients never share an owner, even in one process.
type Client struct {
	set      settings
	rdb      redis.UniversalClient
	log      *slog.Logger
	appID    string
	answer   time.Duration // how long one command may take to be answered: the read time-out of rdb
	farewell time.Duration // how long the last connection may take to end: the read or the dial time-out
	fields   atomic.Uint64 // numbers the fields, none of which is ever used twice
	wire     *wire.Wire
	hub      *pubsub.Hub
	gate     *gate.Gate
	dog      *watchdog.Watchdog
	table    *table
	orphans  orphans

	timers timers
	end    ending
	chores chores
	lines  lines
}

// New makes a Client on rdb, which stays the caller's to close, after the Client. It does no I/O: only the settings are
// judged. A *redis.Ring is refused, because it moves keys to other servers when one fails, and so is a client without a
// read time-out, with which no operation could promise to end.
func New(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	set, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	read, dial, err := timeouts(rdb)
	if err != nil {
		return nil, fmt.Errorf("rlock: New: %w", err)
	}
	appID, err := ownerid.NewAppID(set.label)
	if err != nil {
		return nil, fmt.Errorf("rlock: New: WithName: %w", err)
	}
	c := &Client{set: set, rdb: rdb, log: set.logger, appID: appID, answer: read, farewell: max(read, dial)}
	c.furnish()
	return c, nil
}

// furnish makes the rooms of the engine and connects them.
func (c *Client) furnish() {
	c.wire = wire.New(c.rdb, c.set.now)
	c.set.hub.Logger = slog.New(behind{c.set.logger.Handler(), &c.lines})
	c.hub = pubsub.NewHub(func(ctx context.Context) *redis.PubSub { return c.rdb.Subscribe(ctx) }, c.set.hub)
	c.gate = gate.New()
	c.dog = watchdog.New(watchdog.Config{
		Clock: c.set.now, Period: c.period(), Batch: renewalBatch, Renew: c.renew,
	})
	c.table = newTable()
	c.end = newEnding()
}

// period is how often a hold is renewed: each third of the watchdog's time-out, so that two renewals in a row may fail and
// the third still comes in time. At a half one failure leaves no second chance; at nine tenths none at all.
func (c *Client) period() time.Duration { return max(c.set.watchdog/3, time.Millisecond) }

// NewLock makes a handle of the reentrant lock of that name. It costs nothing and needs no closing; handles of one name are
// the same lock. A name that cannot be is reported by the first verb: an empty one, and on Cluster one whose braces put the
// lock and its channel into different slots.
func (c *Client) NewLock(name string, opts ...LockOption) *Lock {
	raw := c.set.prefix + name
	l := &Lock{c: c, name: name, keys: keysOf(raw), bad: judgeName(c.rdb, name, raw)}
	for _, opt := range opts {
		if opt == nil {
			l.bad = errors.New("an option is nil")
			return l
		}
		opt.applyLock(l)
	}
	return l
}

// ID is what the Client's holds are known by in Redis, Redisson's client id: a random UUID, behind the label of WithName if
// there is one. The owner that State tells, and the fields of a lock, begin with the ID of the Client that holds it.
func (c *Client) ID() string { return c.appID }

// owner is who acts under ctx: the owner that ctx carries, else the calling goroutine.
func (c *Client) owner(ctx context.Context) (ownerid.ID, error) {
	if ctx == nil {
		return ownerid.ID{}, errNilContext
	}
	if id, ok := ownerid.FromContext(ctx); ok {
		return id, nil
	}
	if c.set.explicitOwners {
		return ownerid.ID{}, ErrNoOwner
	}
	return ownerid.Goroutine(), nil
}

var errNilContext = errors.New("the context is nil")

// newField names a field for one attempt of owner to take a lock. A field is never used again, so that nothing that
// arrives late, a release or an acquire of an earlier attempt, can touch a later hold.
func (c *Client) newField(owner ownerid.ID) field {
	name := make([]byte, 0, 96) // on the stack
	name = append(name, c.appID...)
	name = append(name, ':')
	name = append(name, owner.String()...)
	name = append(name, '~')
	return fieldOf(string(strconv.AppendUint(name, c.fields.Add(1), 10)))
}

// field is the name of a field, also in the form that commands take.
type field struct {
	name string
	text lua.Text
}

func fieldOf(name string) field { return field{name: name, text: name} }

// timeouts are those of rdb, for reading and for dialling, and the judgement whether locks can live on it at all.
func timeouts(rdb redis.UniversalClient) (read, dial time.Duration, err error) {
	read, dial = 5*time.Second, 5*time.Second // go-redis' own, for clients that do not show theirs
	switch r := rdb.(type) {
	case nil:
		return 0, 0, errNilClient
	case *redis.Ring:
		return 0, 0, errors.New("rdb is a Ring client, which moves keys to other servers when one fails: " +
			"use NewClient, NewFailoverClient or NewClusterClient")
	case *redis.Client:
		if r == nil {
			return 0, 0, errNilClient
		}
		read, dial = r.Options().ReadTimeout, r.Options().DialTimeout
	case *redis.ClusterClient:
		if r == nil {
			return 0, 0, errNilClient
		}
		read, dial = r.Options().ReadTimeout, r.Options().DialTimeout
	}
	if read <= 0 {
		return 0, 0, errors.New("rdb has no ReadTimeout: a command that is never answered would never end")
	}
	return min(read, maxLease), min(dial, maxLease), nil // so that sums of them stay within a time.Duration
}

var errNilClient = errors.New("rdb is nil")
