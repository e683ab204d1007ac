package rlock

import (
	"context"
	"strings"
	"time"

	"github.com/rlock-go/rlock/lua"
)

// NoTTL is the TTL of a lock that somebody made without an end, with PERSIST for instance.
const NoTTL time.Duration = lua.NoTTL

// State is what Redis says of a lock at one moment.
type State struct {
	Locked bool          // somebody holds it
	Owner  string        // who: APP_ID:owner; of a Java peer its client id and thread id
	Holds  int           // how many levels the asking owner holds
	TTL    time.Duration // what the lease has left; 0 if it is not locked, NoTTL if it never ends
}

// State asks Redis in one round trip, at the master. It waits as long as ctx and the retry budget allow, and one
// read time-out of the redis client at most beyond the budget. The answer may be
// outdated when it arrives: to check it and then lock is no substitute for TryLock.
func (l *Lock) State(ctx context.Context) (State, error) {
	owner, err := l.ownerOf(ctx)
	if err == nil {
		err = l.usable(ctx)
	}
	if err != nil {
		return State{}, l.fail("state", err)
	}
	found, err := l.read(ctx)
	if err != nil || len(found.Fields) == 0 {
		return State{}, l.fail("state", err)
	}
	mine, levels := l.c.table.held(seatKey{l.keys.hash, owner})
	s := State{Locked: true, Owner: ownerOfField(found.Fields[0].Name), TTL: found.TTL}
	for _, f := range found.Fields {
		if f.Name == mine {
			// What the owner was told, also where a late command makes Redis count otherwise until the next one.
			s.Owner, s.Holds = ownerOfField(f.Name), levels
		}
	}
	return s, nil
}

// read looks at what Redis holds.
func (l *Lock) read(ctx context.Context) (lua.Contents, error) {
	got := l.c.ask(ctx, lua.Read(l.keys.wire.hash))
	if got.err != nil {
		return lua.Contents{}, got.err
	}
	return lua.DecodeRead(got.value)
}

// ownerOfField cuts the number of the attempt off; the fields of Java peers have none.
func ownerOfField(field string) string {
	owner, _, _ := strings.Cut(field, "~")
	return owner
}
