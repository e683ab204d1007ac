package rlock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rlock-go/rlock/ownerid"
)

// table knows who in this process holds what, and who is at it. Nothing in it outlives the last holder and the last
// caller of a lock.
type table struct {
	mu      sync.Mutex // guards what follows and every seat's refs; taken before a seat's mutex, never after; no I/O under it
	seats   map[seatKey]*seat
	holders map[string]*tenure // by raw name: who of this process holds it, if anybody
	revoked map[string]int     // fields that a forced unlock named, a grant of which may still be under way
	tenures int                // not yet given back, lost ones included
	closed  bool               // no further tenure is admitted
	empty   chan struct{}      // closed once closed is set and nobody has a seat
}

type seatKey struct {
	name  string // raw
	owner ownerid.ID
}

func newTable() *table {
	return &table{seats: map[seatKey]*seat{}, holders: map[string]*tenure{}, revoked: map[string]int{}, empty: make(chan struct{})}
}

// sit gives the caller the owner's seat, which stays until rise.
func (t *table) sit(key seatKey) *seat {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.seats[key]
	if !ok {
		s = &seat{key: key}
		t.seats[key] = s
	}
	s.refs++
	return s
}

// sitWith sits down beside such owners as are at the lock of that raw name, each until rise.
func (t *table) sitWith(name string, such func(ownerid.ID) bool) (seats []*seat) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, s := range t.seats {
		if key.name == name && such(key.owner) {
			s.refs++
			seats = append(seats, s)
		}
	}
	return seats
}

func (t *table) rise(s *seat) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.riseLocked(s)
}

func (t *table) riseLocked(s *seat) {
	if s.refs--; s.refs == 0 {
		delete(t.seats, s.key)
		t.checkEmptyLocked()
	}
}

func (t *table) checkEmptyLocked() {
	if t.closed && len(t.seats) == 0 && !isClosed(t.empty) {
		close(t.empty)
	}
}

func (t *table) find(key seatKey) *seat {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seats[key]
}

// admit enters a tenure that begins, unless the Client is closing or the lock was unlocked by force while the grant was
// under way.
func (t *table) admit(n *tenure) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.revoked[n.field.name] > 0 {
		return false
	}
	t.tenures++
	n.seat.refs++
	t.holders[n.seat.key.name] = n
	return true
}

// forget strikes off a tenure whose levels were all given back and whose release is settled or left to the background.
func (t *table) forget(n *tenure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tenures--
	t.riseLocked(n.seat)
}

// vacate notes that a tenure no longer holds its lock, be it lost or released.
func (t *table) vacate(n *tenure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders[n.seat.key.name] == n {
		delete(t.holders, n.seat.key.name)
	}
}

// revoke returns the tenure of this process that has one of these fields, and refuses the others from now on: a grant of them
// may be under way. One that a tenure has was granted already, and no field is granted twice.
func (t *table) revoke(name string, fields []string) (holder *tenure, refused []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, field := range fields {
		if n := t.holders[name]; n != nil && n.field.name == field {
			holder = n
			continue
		}
		t.revoked[field]++
		refused = append(refused, field)
	}
	return holder, refused
}

func (t *table) forgetRevoked(fields []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, field := range fields {
		if t.revoked[field]--; t.revoked[field] == 0 {
			delete(t.revoked, field)
		}
	}
}

// holder is the tenure of this process that holds the lock of that raw name, if there is one.
func (t *table) holder(name string) *tenure {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holders[name]
}

// heldHere is for how long from now the lock is known to be held by this very process, and what is left of the hold. It is known
// for a second from the newest command that Redis has confirmed, for it may have been taken away since, and no longer than the
// hold's deadline. Nothing is known if known is not above 0.
func (c *Client) heldHere(name string) (known, ttl time.Duration) {
	t := c.table.holder(name)
	if t == nil {
		return 0, 0
	}
	now, until := c.set.now(), t.until()
	return min(until, time.Duration(t.confirmed.Load())+time.Second) - now, until - now
}

// close admits no further tenure and lists those that there are.
func (t *table) close() []*tenure {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.checkEmptyLocked()
	return t.allLocked()
}

// all lists the tenures that there are.
func (t *table) all() []*tenure {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.allLocked()
}

// some names a few of them, for a message: in brackets, or not at all if all that there are is being given back just now.
func (t *table) some(n int) string {
	var names []string
	for _, tenure := range t.all() {
		if len(names) == n {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%q by owner %v", tenure.lock.name, tenure.seat.key.owner))
	}
	if len(names) == 0 {
		return ", on their way back"
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (t *table) allLocked() []*tenure {
	var all []*tenure
	for _, s := range t.seats {
		if n := s.current(); n != nil {
			all = append(all, n)
		}
	}
	return all
}

func (t *table) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tenures
}

// claimNewestVerb finds the owner's newest level of Lock or TryLock that nobody is giving back yet, and makes the caller the
// one who does.
func (t *table) claimNewestVerb(key seatKey) *Hold {
	s := t.find(key)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	if s.tenure == nil {
		s.mu.Unlock()
		return nil
	}
	h := s.tenure.newestVerbLocked()
	var tell telling
	if h != nil {
		tell = h.claimLocked()
	}
	s.mu.Unlock()
	tell.now()
	return h
}

// view makes a Hold that shows the owner's tenure, if it is alive.
func (t *table) view(ctx context.Context, key seatKey) (*Hold, bool) {
	s := t.find(key)
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure == nil || !s.tenure.aliveLocked() {
		return nil, false
	}
	return s.tenure.viewLocked(ctx), true
}

// held is the field under which the owner holds the lock and how many levels it was told that it holds; else empty.
func (t *table) held(key seatKey) (field string, levels int) {
	s := t.find(key)
	if s == nil {
		return "", 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure == nil || !s.tenure.aliveLocked() {
		return "", 0
	}
	return s.tenure.field.name, len(s.tenure.levels)
}
