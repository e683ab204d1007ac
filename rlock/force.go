package rlock

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rlock-go/rlock/lua"
	"github.com/rlock-go/rlock/ownerid"
)

// ForceUnlock takes the lock away from whoever holds it, Java peers included, and wakes the waiters. It reports whether
// there was anything to take away. A holder of this Client is told first, one elsewhere at its next renewal: until then
// both it and the next one may be inside. It waits as long as ctx and the retry budget allow; after a transport error the
// lock may or may not have been unlocked.
//
// It first reads who holds the lock and then removes just that hold, for a short time only, so that the command cannot hit
// a later hold when the network delivers it late.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	if err := l.usable(ctx); err != nil {
		return false, l.fail("force unlock", err)
	}
	removed, err := l.forceUnlock(ctx)
	return removed, l.fail("force unlock", err)
}

func (l *Lock) forceUnlock(ctx context.Context) (bool, error) {
	f := forcing{l: l}
	for {
		found, err := l.read(ctx)
		if err != nil {
			return false, err
		}
		fields := fieldNames(found)
		if len(fields) == 0 || f.doubt && !slices.ContainsFunc(fields, f.meant) {
			return f.doubt, nil
		}
		if removed, err := f.remove(ctx, fields, found.At); removed || err != nil {
			return removed, err
		}
	}
}

// forcing is one forced unlock. It takes several looks if the holder changes between the look and the removal.
type forcing struct {
	l     *Lock
	doubt bool     // what was meant may have been taken away already, although no answer said so
	aimed []string // the fields that were named while it was not in doubt: nobody else's hold is taken away any more
}

func (f *forcing) meant(field string) bool { return slices.Contains(f.aimed, field) }

// remove takes the fields away, after the holders of this Client were told.
func (f *forcing) remove(ctx context.Context, fields []string, at int64) (bool, error) {
	if f.doubt {
		fields = slices.DeleteFunc(fields, func(field string) bool { return !f.meant(field) })
	}
	f.aimed = fields
	c := f.l.c
	if own := c.ownFields(fields); len(own) > 0 {
		t, refused := c.table.revoke(f.l.keys.hash, own)
		if t != nil {
			t.end(errForced)
			f.doubt = true // from here on the holder itself may be the one to remove it
		}
		if len(refused) > 0 {
			defer c.forgetRevoked(f.l.keys.hash, refused)
		}
	}
	got := c.ask(ctx, lua.Force(f.l.keys.wire.hash, f.l.keys.wire.channel, fields, at+c.forceBudget().Microseconds()))
	f.doubt = f.doubt || got.doubt
	if got.err != nil {
		return false, got.err
	}
	return lua.DecodeForce(got.value)
}

// ownFields are those of this Client.
func (c *Client) ownFields(fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(field string) bool { return !strings.HasPrefix(field, c.appID+":") })
}

// forgetRevoked ends the revocation of fields once no grant of them can be under way any more. Whoever waits for a grant has the
// turn of its owner's seat until it has taken or refused it, so whoever gets that turn now comes after. To wait for some time
// would not do: a process that is paused for longer would wake up to a grant that nobody refuses.
func (c *Client) forgetRevoked(name string, fields []string) {
	seats := c.table.sitWith(name, func(owner ownerid.ID) bool {
		return slices.ContainsFunc(fields, func(field string) bool {
			return strings.HasPrefix(field, c.appID+":"+owner.String()+"~")
		})
	})
	forget := func() {
		for _, s := range seats {
			if s.turn.take(never, nil, c.end.draining) {
				s.turn.pass()
			}
			c.table.rise(s)
		}
		c.table.forgetRevoked(fields)
	}
	if !c.chores.start(forget) { // the Client is closed, and grants nothing any more
		forget()
	}
}

// forceBudget is how long after the look the removal may still run: as long as this client goes on sending it.
func (c *Client) forceBudget() time.Duration { return c.set.retryBudget + c.answer }

func fieldNames(found lua.Contents) []string {
	names := make([]string, len(found.Fields))
	for i, f := range found.Fields {
		names[i] = f.Name
	}
	return names
}
