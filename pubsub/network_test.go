package pubsub_test

import (
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/pubsub"
)

func TestABlackHoleInTheNetwork(t *testing.T) {
	proxy, rdb, admin := proxied(t)
	h := start(t, rdb, pubsub.Config{Ping: 500 * time.Millisecond})
	subs := listenAll(t, h, "c%d", 50)
	proxy.BlackHole(true)
	began := time.Now()
	eventually(t, func() bool { return !subs[0].Confirmed() }, "confirmed out of a black hole")
	assert.Less(t, time.Since(began), 5*time.Second, "about a second, on a machine that has time")
	proxy.Cut()
	proxy.BlackHole(false)
	for _, s := range subs {
		settle(t, s)
	}
	assertHeard(t, h, admin)
}

func TestALostConfirmationIsMissed(t *testing.T) {
	proxy, rdb, admin := proxied(t)
	h := start(t, rdb, pubsub.Config{Ping: 500 * time.Millisecond})
	listen(t, h, "a")
	proxy.DropReply(1, faultproxy.And(faultproxy.Command("subscribe"), faultproxy.Word("b")))
	settle(t, h.Subscribe("b"))
	assertHeard(t, h, admin)
}

func TestACutBeforeTheConfirmation(t *testing.T) {
	proxy, rdb, admin := proxied(t)
	h := start(t, rdb, pubsub.Config{})
	proxy.CutAfterWrite(2, faultproxy.Command("subscribe"))
	settle(t, h.Subscribe("a"))
	assertHeard(t, h, admin)
}

func TestChurnOverASlowNetwork(t *testing.T) {
	proxy, rdb, admin := proxied(t)
	h := start(t, rdb, pubsub.Config{Linger: 5 * time.Millisecond})
	proxy.DelayReplies(30*time.Millisecond, faultproxy.Command("subscribe"), faultproxy.Command("unsubscribe"))
	var crowd sync.WaitGroup
	for range 20 {
		crowd.Go(func() { churn(t, h, publisher(t, admin)) })
	}
	crowd.Wait()
	eventually(t, func() bool { return h.Channels() == 0 }, "channels of the hub")
	eventually(t, func() bool { return len(admin.PubSubChannels(t.Context(), "*").Val()) == 0 }, "channels of the server")
	assertHeard(t, h, admin)
}

// proxied is a server, a client that reaches it through a proxy, and one that
// does not.
func proxied(t *testing.T) (*faultproxy.Proxy, *redis.Client, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	proxy := faultproxy.New(t, server.Addr())
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return proxy, rdb, server.Raw(t)
}
