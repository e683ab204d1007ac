package faultproxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
)

// talk is a dialogue that pub/sub makes hard to pair. After each step the number
// of answered requests must be the number of those sent: a reply taken for
// another's would leave one over, or one short.
type talk []struct {
	send []string
	want int // lines
}

func TestPubSubRepliesFindTheirRequests(t *testing.T) {
	redistest.RequireVersion(t, 7, 0)
	subscriptions := talk{
		{[]string{"SUBSCRIBE", "a", "b", "c"}, 18},
		{[]string{"SUBSCRIBE", "a"}, 6},
		{[]string{"PSUBSCRIBE", "p*", "q*"}, 12},
		{[]string{"SSUBSCRIBE", "s"}, 6},
		{[]string{"UNSUBSCRIBE", "a"}, 6},
		{[]string{"UNSUBSCRIBE"}, 12},
		{[]string{"UNSUBSCRIBE"}, 5},
		{[]string{"PUNSUBSCRIBE"}, 12},
		{[]string{"SUNSUBSCRIBE", "s", "t"}, 12},
		{[]string{"SUBSCRIBE"}, 1},
		{[]string{"PING"}, 1},
		{[]string{"RPUSH", "list", "message", "subscribe", "a"}, 1},
		{[]string{"LRANGE", "list", "0", "-1"}, 7},
	}
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			r := newRig(t)
			c := connect(t, r.Addr())
			c.hello(protocol)
			sent := r.Answered(nil)
			for _, step := range subscriptions {
				c.send(step.send...)
				answer := c.lines(step.want)
				sent++
				require.Equal(t, sent, r.Answered(nil), "%v: %s", step.send, answer)
			}
			c.requireQuiet()
		})
	}
}

func TestMessagesAnswerNothing(t *testing.T) {
	redistest.RequireVersion(t, 7, 0)
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			r := newRig(t)
			c := connect(t, r.Addr())
			c.hello(protocol)
			c.send("SUBSCRIBE", "news")
			c.lines(6)
			c.send("PSUBSCRIBE", "n*")
			c.lines(6)
			c.send("SSUBSCRIBE", "news")
			c.lines(6)
			r.HoldRequest(late, 1, ping)
			c.send("PING")
			require.NoError(t, r.admin.Publish(t.Context(), "news", "hello").Err())
			require.NoError(t, r.admin.SPublish(t.Context(), "news", "hello").Err())
			assert.Equal(t, 3, strings.Count(c.lines(7+9+7), "hello"))
			assert.Zero(t, r.Answered(ping))
			assert.Contains(t, c.lines(map[string]int{"2": 5, "3": 1}[protocol]), map[string]string{"2": "pong", "3": "PONG"}[protocol])
			assert.Equal(t, 1, r.Answered(ping))
		})
	}
}

func TestRESP3ConnectionDoesEverythingAtOnce(t *testing.T) {
	r := newRig(t)
	c := connect(t, r.Addr())
	c.hello("3")
	c.send("CLIENT", "TRACKING", "ON")
	c.send("GET", "key")
	c.send("SUBSCRIBE", "news")
	c.send("LRANGE", "nothing", "0", "-1")
	require.Equal(t, "+OK _ >3 $9 subscribe $4 news :1 *0", c.lines(9))
	require.NoError(t, r.admin.Set(t.Context(), "key", "x", 0).Err())
	require.Contains(t, c.lines(6), "invalidate")
	c.send("RPUSH", "list", "message", "news", "x")
	c.send("LRANGE", "list", "0", "-1")
	require.Equal(t, ":3 *3 $7 message $4 news $1 x", c.lines(8))
	require.Equal(t, 2, r.Answered(faultproxy.Command("lrange")), "a list that looks like a message")

	blpop := faultproxy.Command("blpop")
	c.send("GET", "key")
	c.send("BLPOP", "nothing", "0")
	require.Equal(t, "$1 x", c.lines(2))
	require.NoError(t, r.Wait(soon(t), blpop, 1))
	require.NoError(t, r.admin.Del(t.Context(), "key").Err())
	require.Contains(t, c.lines(6), "invalidate")
	assert.Zero(t, r.Answered(blpop), "a push that came meanwhile")
}

func TestEachConfirmationBelongsToItsRequest(t *testing.T) {
	r := newRig(t)
	r.DropReply(1, faultproxy.And(faultproxy.Command("subscribe"), faultproxy.Not(faultproxy.Word("b"))))
	c := connect(t, r.Addr())
	c.send("SUBSCRIBE", "a", "b", "a")
	c.send("SUBSCRIBE", "a")
	assert.Equal(t, 3, strings.Count(c.lines(18), "subscribe"))
	c.requireQuiet()
}

func TestServerUnsubscribesByItself(t *testing.T) {
	addr := serve(t, func(c io.ReadWriter) { // the slot of s moves away while t is given up
		_, _ = c.Read(make([]byte, 1024))
		for _, channel := range []string{"s", "t"} {
			_, _ = io.WriteString(c, ">3\r\n$12\r\nsunsubscribe\r\n$1\r\n"+channel+"\r\n:0\r\n")
		}
	})
	p := faultproxy.New(t, addr)
	p.DropReply(1, faultproxy.Any)
	c := connect(t, p.Addr())
	c.send("SUNSUBSCRIBE", "t")
	assert.Equal(t, ">3 $12 sunsubscribe $1 s :0", c.lines(6))
	require.NoError(t, p.WaitAnswered(soon(t), nil, 1))
	assert.ErrorIs(t, c.end(), io.EOF)
}

func TestSubscribingInsideATransaction(t *testing.T) {
	r := newRig(t)
	c := connect(t, r.Addr())
	c.send("MULTI")
	c.send("SUBSCRIBE", "a", "b")
	c.send("EXEC")
	assert.Equal(t, "+OK +QUEUED *1 *3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2", c.lines(15))
	c.send("UNSUBSCRIBE", "a")
	assert.Contains(t, c.lines(6), "unsubscribe")
	assert.Equal(t, 4, r.Answered(nil))
}

func TestRefusedAndDroppedSubscriptions(t *testing.T) {
	r := newRig(t)
	r.RefuseRequest("-NOPERM no", 1, faultproxy.Command("subscribe"))
	client := r.client(t)
	sub := client.Subscribe(t.Context(), "news")
	_, err := sub.Receive(soon(t))
	require.ErrorContains(t, err, "NOPERM")
	require.NoError(t, sub.Close())

	r.DropReply(1, faultproxy.Command("subscribe"))
	c := connect(t, r.Addr())
	c.send("SUBSCRIBE", "a", "b")
	require.NoError(t, r.WaitAnswered(soon(t), faultproxy.Command("subscribe"), 1))
	require.NoError(t, r.admin.Publish(t.Context(), "a", "unheard").Err())
	c.requireQuiet()
}

func TestGoRedisSubscriberAndMonitor(t *testing.T) {
	r := newRig(t)
	client := r.client(t)
	sub := client.Subscribe(t.Context(), "news")
	defer sub.Close()
	_, err := sub.Receive(soon(t))
	require.NoError(t, err)
	for i := range 100 {
		require.NoError(t, client.Publish(soon(t), "news", i).Err())
	}
	for i := range 100 {
		message, err := sub.ReceiveMessage(soon(t))
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(i), message.Payload)
	}
	monitor := connect(t, r.Addr())
	monitor.send("MONITOR")
	require.Equal(t, "+OK", monitor.line())
	require.NoError(t, r.admin.Incr(t.Context(), "watched").Err())
	for !strings.Contains(monitor.line(), "watched") { // what else goes on there is shown too
	}
	assert.Equal(t, 1, r.Answered(faultproxy.Command("monitor")))
}

// TestRandomPipelines attacks the pairing: every reply must be the one that its
// request asked for, whatever is refused, held and delayed around it.
func TestRandomPipelines(t *testing.T) {
	r := newRig(t)
	r.DelayReplies(late/100, faultproxy.Word("delayed"))
	r.HoldRequest(late/100, faultproxy.Every, faultproxy.Word("held"))
	r.RefuseRequest("-ERR refused", faultproxy.Every, faultproxy.Word("refused"))
	client := r.client(t)
	for range 50 {
		kinds := make([]string, 1+rand.IntN(40))
		commands, _ := client.Pipelined(soon(t), func(p redis.Pipeliner) error {
			for i := range kinds {
				kinds[i] = []string{"plain", "delayed", "held", "refused"}[rand.IntN(4)]
				p.Eval(t.Context(), "return {KEYS[1], ARGV[1]}", []string{kinds[i]}, i)
			}
			return nil
		})
		for i, command := range commands {
			value, err := command.(*redis.Cmd).Result()
			if kinds[i] == "refused" {
				require.EqualError(t, err, "ERR refused")
				continue
			}
			require.Equal(t, []any{kinds[i], strconv.Itoa(i)}, value)
		}
	}
}

func TestWaitGivesUpWithItsContext(t *testing.T) {
	r := newRig(t)
	client := r.client(t)
	require.NoError(t, client.Incr(soon(t), "n").Err())
	require.NoError(t, r.Wait(t.Context(), incr, 1))
	bored := errors.New("bored")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bored)
	err := r.Wait(ctx, incr, 3)
	require.ErrorIs(t, err, bored)
	assert.ErrorContains(t, err, "waited for 3 requests, 1 came")

	waiting := make(chan error)
	go func() { waiting <- r.Wait(soon(t), incr, 3) }()
	for range 2 {
		require.NoError(t, client.Incr(soon(t), "n").Err())
	}
	assert.NoError(t, <-waiting)
}

// hello chooses the protocol, says what more the words say, and reads the answer away.
func (c *conn) hello(words ...string) {
	c.t.Helper()
	c.send(append([]string{"HELLO"}, words...)...)
	c.send("ECHO", "hello-is-over")
	for c.line() != "hello-is-over" {
	}
}

func BenchmarkProxy(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) { benchmark(b, clients) })
	}
}
