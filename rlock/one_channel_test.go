package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// Attacks promise P7: Redisson's rule gives "x" and "{x}" one channel. An unlock of either wakes its own waiter, although a waiter
// of the other name hears the same message, and is the next in line for it.
func TestP7_OfTwoNamesWithOneChannelEachIsWoken(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][2]string{"the plain one first": {"", "{}"}, "the braced one first": {"{}", ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rlock.WithFallbackLook(time.Minute))
			r.warm()
			holder := clientOf(t, r.srv)
			owner := someone()
			in := map[string]<-chan error{}
			for i, braces := range order {
				name := r.key
				if braces != "" {
					name = "{" + r.key + "}"
				}
				order[i] = name
				require.Equal(t, rlock.ChannelOf(r.key), rlock.ChannelOf(name))
				require.NoError(t, holder.NewLock(name).Lock(owner, rlock.Lease(time.Minute)))
				in[name] = outcome(func() error { return r.client.NewLock(name).Do(someone(), doNothing) })
				r.eventually(func() bool { return r.client.HasParked(name) }, "it waits")
			}
			r.asleep(1)
			for _, name := range []string{order[1], order[0]} {
				require.NoError(t, holder.NewLock(name).Unlock(owner))
				assert.NoError(t, inTime(t, soonEnough, in[name], name+" sleeps through its wake-up"))
			}
		})
	}
}
