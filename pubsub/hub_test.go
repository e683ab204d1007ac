package pubsub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/pubsub"
)

func TestAMessageWakesOneSubscription(t *testing.T) {
	h, post := onShared(t)
	name := channelName(t)
	subs := listenMany(t, h, name, 5)
	for range 3 { // rounds: nobody is woken again before all were
		woken := make(map[int]bool)
		for range subs {
			post(name)
			i := only(t, subs)
			assert.False(t, woken[i], "in turn")
			woken[i] = true
		}
	}
}

func TestUnreadTokensAreNotTheEndOfAMessage(t *testing.T) {
	h, post := onShared(t)
	name := channelName(t)
	subs := listenMany(t, h, name, 5)
	for range subs {
		post(name)
	}
	assert.Equal(t, 5, awake(subs...), "five messages, and nobody has read yet: one each")
	for range 9 {
		post(name)
	}
	assert.Equal(t, 5, awake(subs...))
}

func TestAMessagePassesOverWhoHasNotReadTheLast(t *testing.T) {
	h, post := onShared(t)
	name := channelName(t)
	subs := listenMany(t, h, name, 2)
	post(name)
	first := owner(t, subs)
	post(name)
	second := subs[1-first]
	require.True(t, drain(second))
	post(name) // it would be the first one's turn
	assert.True(t, drain(second))
	assert.True(t, drain(subs[first]))
}

func TestAConfirmationWakesAll(t *testing.T) {
	bubble(t, pubsub.Config{}, func(t *testing.T, f *fake, h *pubsub.Hub) {
		subs := make([]*pubsub.Subscription, 50)
		for i := range subs {
			subs[i] = h.Subscribe("a")
		}
		for range 3 { // the second and third time after a reconnection
			time.Sleep(time.Second)
			assert.Equal(t, 50, awake(subs...))
			assert.Equal(t, []string{"a"}, f.last().sent("subscribe"))
			f.cut()
		}
		assert.Equal(t, 1, h.Channels())
	})
}

func TestALeaversTokenIsPassedOn(t *testing.T) {
	h, post := onShared(t)
	name := channelName(t)
	subs := listenMany(t, h, name, 3)
	post(name)
	i := owner(t, subs)
	subs[i].Close()
	rest := append(append([]*pubsub.Subscription(nil), subs[:i]...), subs[i+1:]...)
	assert.Equal(t, 1, awake(rest...))
	assert.Zero(t, awake(subs[i]), "it went, it was not copied")

	rest[0].Close()
	rest[0].Close()
	assert.Zero(t, awake(rest...), "no token, none to pass on")
	post(name)
	assert.Equal(t, 1, awake(rest[1]))
	assert.Zero(t, awake(rest[0]), "a closed subscription gets none")
	assert.False(t, rest[0].Confirmed())
}

// The unlock slips between the failed look and the subscription: its message is
// heard by nobody.
func TestAMessageMissedBeforeTheSubscriptionIsMadeUpFor(t *testing.T) {
	h, post := onShared(t)
	rdb := redistest.Shared(t).Raw(t)
	name := channelName(t)
	require.NoError(t, rdb.Set(t.Context(), name, "held", 0).Err())
	looks := 0
	look := func() bool {
		looks++
		n, err := rdb.Exists(t.Context(), name).Result()
		require.NoError(t, err)
		return n == 0
	}
	require.False(t, look())
	require.NoError(t, rdb.Del(t.Context(), name).Err())
	post(name)
	s := h.Subscribe(name)
	defer s.Close()
	token(t, s)
	assert.True(t, s.Confirmed())
	assert.True(t, look())
	assert.Equal(t, 2, looks)
}

func TestOneConnectionForAThousandChannels(t *testing.T) {
	server := redistest.Start(t)
	h := start(t, server.Client(t), pubsub.Config{})
	admin := server.Raw(t)
	subs := listenAll(t, h, "c%d", 1000)
	assert.Equal(t, 1, subscribers(t, admin))
	assert.Len(t, admin.PubSubChannels(t.Context(), "*").Val(), 1000)
	assert.Equal(t, 1000, h.Channels())
	for i := range subs {
		require.NoError(t, admin.Publish(t.Context(), fmt.Sprintf("c%d", i), "0").Err())
	}
	for _, s := range subs {
		token(t, s)
	}
	assert.Less(t, calls(t, admin, "subscribe"), 100)
}

func TestNamesOfAnyKindInBothProtocols(t *testing.T) {
	names := []string{"x", "ab", strings.Repeat("n", 200), "größer als ☃", "sp ace\r\nline", "{tag}:x", "\x00\xff", "subscribe"}
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			server := redistest.Start(t)
			rdb := server.Client(t, func(o *redis.Options) { o.Protocol = protocol })
			h := start(t, rdb, pubsub.Config{})
			for _, name := range names {
				s := listen(t, h, name)
				require.NoError(t, rdb.Publish(t.Context(), name, "0").Err())
				token(t, s)
				s.Close()
			}
			assert.Equal(t, 1, subscribers(t, rdb))
		})
	}
}

// onShared is a hub on the shared server, and a way to post messages that
// returns when the hub has dealt with them.
func onShared(t *testing.T) (h *pubsub.Hub, post func(channel string)) {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	h = start(t, rdb, pubsub.Config{})
	mark := channelName(t) + ":mark"
	marker := listen(t, h, mark)
	t.Cleanup(marker.Close)
	return h, func(channel string) {
		t.Helper()
		require.NoError(t, rdb.Publish(t.Context(), channel, "0").Err())
		require.NoError(t, rdb.Publish(t.Context(), mark, "0").Err())
		token(t, marker) // it came over the same connection, and later
	}
}

func channelName(t *testing.T) string {
	t.Helper()
	return "pubsub:" + t.Name()
}

func listenMany(t *testing.T, h *pubsub.Hub, name string, n int) []*pubsub.Subscription {
	t.Helper()
	subs := make([]*pubsub.Subscription, n)
	for i := range subs {
		subs[i] = listen(t, h, name)
		t.Cleanup(subs[i].Close)
	}
	return subs
}

// owner is the index of the one subscription that has a token, which is left
// there.
func owner(t *testing.T, subs []*pubsub.Subscription) int {
	t.Helper()
	found := -1
	for i, s := range subs {
		if len(s.Wake()) > 0 {
			require.Negative(t, found, "one message woke two")
			found = i
		}
	}
	require.GreaterOrEqual(t, found, 0, "nobody was woken")
	return found
}

func only(t *testing.T, subs []*pubsub.Subscription) int {
	t.Helper()
	i := owner(t, subs)
	drain(subs[i])
	return i
}

// subscribers counts the connections that the server serves in subscriber mode.
func subscribers(t testing.TB, admin *redis.Client) int {
	t.Helper()
	list, err := admin.Do(t.Context(), "client", "list", "type", "pubsub").Text()
	require.NoError(t, err)
	return strings.Count(list, "id=")
}

// calls is how often the server has run a command.
func calls(t testing.TB, admin *redis.Client, command string) int {
	t.Helper()
	info, err := admin.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	_, after, found := strings.Cut(info, "cmdstat_"+command+":calls=")
	require.True(t, found)
	var n int
	_, err = fmt.Sscanf(after, "%d", &n)
	require.NoError(t, err)
	return n
}
