package pubsub_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/pubsub"
)

// bubble runs a test in virtual time on a hub with a fake server. That every
// goroutine ends is checked by the bubble itself.
func bubble(t *testing.T, cfg pubsub.Config, test func(t *testing.T, f *fake, h *pubsub.Hub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		rdb := f.client()
		t.Cleanup(func() {
			require.NoError(t, rdb.Close())
			f.cut()
		})
		test(t, f, start(t, rdb, cfg))
	})
}

// refuse makes a fake's rule from one about channels.
func refuse(forbidden func(names []string) bool) func([]string) string {
	return func(words []string) string {
		if words[0] == "subscribe" && forbidden(words[1:]) {
			return "NOPERM this user has no permissions to access one of the channels used as arguments"
		}
		return ""
	}
}
