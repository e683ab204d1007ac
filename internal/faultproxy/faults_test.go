package faultproxy_test

import (
	"context"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
)

// late is a delay that tests measure: no shorter wait may pass for it.
const late = 60 * time.Millisecond

var (
	incr = faultproxy.Command("incr")
	ping = faultproxy.Command("ping")
)

func TestDelayReplies(t *testing.T) {
	r := newRig(t)
	r.DelayReplies(time.Hour, incr, faultproxy.Command("append"))
	r.DelayReplies(late, incr)
	c := connect(t, r.Addr())
	start := time.Now()
	c.send("PING")
	c.send("INCR", "n")
	c.send("ECHO", "behind")
	assert.Equal(t, "+PONG", c.line())
	require.NoError(t, r.WaitAnswered(soon(t), incr, 1))
	assert.Equal(t, "1", r.value(t, "n"), "only the reply is late")
	assert.Equal(t, ":1 $6 behind", c.lines(3))
	assert.GreaterOrEqual(t, time.Since(start), late)

	r.DelayReplies(0, incr)
	c.send("INCR", "n")
	assert.Equal(t, ":2", c.line())
	c.send("APPEND", "key", "x")
	c.requireQuiet()
}

func TestDelayRepliesDelaysPushesToo(t *testing.T) {
	r := newRig(t)
	c := connect(t, r.Addr())
	c.send("SUBSCRIBE", "news")
	require.Equal(t, "*3 $9 subscribe $4 news :1", c.lines(6))
	r.DelayReplies(time.Hour, faultproxy.Any)
	require.NoError(t, r.admin.Publish(t.Context(), "news", "fast").Err())
	assert.Contains(t, c.lines(7), "fast")
	r.DelayReplies(late)
	start := time.Now()
	require.NoError(t, r.admin.Publish(t.Context(), "news", "slow").Err())
	assert.Contains(t, c.lines(7), "slow")
	assert.GreaterOrEqual(t, time.Since(start), late)
}

func TestDropReplySilencesTheConnection(t *testing.T) {
	r := newRig(t)
	r.DropReply(1, incr)
	c := connect(t, r.Addr())
	c.send("PING")
	c.send("INCR", "n")
	c.send("APPEND", "key", "x")
	assert.Equal(t, "+PONG", c.line())
	require.NoError(t, r.WaitAnswered(soon(t), faultproxy.Command("append"), 1))
	c.requireQuiet()
	assert.Equal(t, "1", r.value(t, "n"))
	assert.Equal(t, int64(2), r.client(t).Incr(soon(t), "n").Val(), "one, and on one connection")
}

func TestDropReplyIsATimeoutToAClient(t *testing.T) {
	r := newRig(t)
	client := r.client(t, func(o *redis.Options) { o.ReadTimeout = late })
	require.NoError(t, client.Ping(soon(t)).Err())
	r.DropReply(1, incr)
	var timeout interface{ Timeout() bool }
	require.ErrorAs(t, client.Incr(t.Context(), "n").Err(), &timeout)
	assert.True(t, timeout.Timeout())
	assert.Equal(t, int64(2), client.Incr(soon(t), "n").Val())
}

func TestCutAfterWrite(t *testing.T) {
	r := newRig(t)
	r.CutAfterWrite(2, incr)
	for want := 1; want <= 2; want++ {
		c := connect(t, r.Addr())
		_, err := io.WriteString(c, request("PING")+request("INCR", "n")+request("PING"))
		require.NoError(t, err)
		assert.Equal(t, "+PONG", c.line())
		line, err := c.read(patience)
		assert.ErrorIs(t, err, syscall.ECONNRESET, line)
		assert.Equal(t, want, r.Answered(incr))
	}
	assert.Equal(t, int64(3), r.client(t).Incr(soon(t), "n").Val())
}

func TestCutAfterWriteIsAnErrorToAClient(t *testing.T) {
	r := newRig(t)
	r.CutAfterWrite(1, incr)
	client := r.client(t)
	requireCutOff(t, client.Incr(soon(t), "n").Err())
	assert.Equal(t, "1", r.value(t, "n"))
}

func TestHeldRequestComesLate(t *testing.T) {
	r := newRig(t)
	r.HoldRequest(late, 1, incr)
	c := connect(t, r.Addr())
	start := time.Now()
	c.send("PING")
	c.send("INCR", "n")
	c.send("INCR", "n")
	assert.Equal(t, "+PONG", c.line())
	assert.Equal(t, ":1 :2", c.lines(2))
	assert.GreaterOrEqual(t, time.Since(start), late)
}

func TestHeldRequestOutlivesItsClient(t *testing.T) {
	for name, leave := range map[string]func(rig, *conn){
		"hung up":       func(_ rig, c *conn) { _ = c.Close() },
		"reset":         func(_ rig, c *conn) { _ = c.SetLinger(0); _ = c.Close() },
		"cut":           func(r rig, _ *conn) { r.Cut() },
		"cut and freed": func(r rig, _ *conn) { r.Cut(); r.Heal() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.HoldRequest(late, 1, incr)
			c := connect(t, r.Addr())
			c.send("CLIENT", "SETNAME", "guest")
			require.Equal(t, "+OK", c.line())
			start := time.Now()
			c.send("INCR", "n")
			require.NoError(t, r.WaitReceived(soon(t), incr, 1))
			require.Zero(t, r.Seen(incr))
			leave(r, c)
			require.NoError(t, r.WaitAnswered(soon(t), incr, 1))
			assert.GreaterOrEqual(t, time.Since(start), late)
			assert.Equal(t, "1", r.value(t, "n"))
			requireGone(t, r, "guest")
		})
	}
}

func TestCutLosesWhatIsNotHeld(t *testing.T) {
	r := newRig(t)
	r.HoldRequest(late, 1, incr)
	c := connect(t, r.Addr())
	c.send("INCR", "n")
	c.send("INCR", "n")
	require.NoError(t, r.WaitReceived(soon(t), incr, 2))
	r.Cut()
	requireCutOff(t, c.end())
	require.NoError(t, r.WaitAnswered(soon(t), incr, 1))
	require.NoError(t, r.client(t).Ping(soon(t)).Err())
	assert.Equal(t, "1", r.value(t, "n"))
}

func TestHeldRequestWaitsForTheServerToAnswer(t *testing.T) {
	r := newRig(t)
	r.HoldRequest(time.Millisecond, 1, incr)
	c := connect(t, r.Addr())
	c.send("PING")
	require.Equal(t, "+PONG", c.line())
	r.server.Pause()
	c.send("INCR", "n")
	require.NoError(t, c.Close())
	require.NoError(t, r.Wait(soon(t), incr, 1))
	assert.Zero(t, r.Answered(incr))
	r.server.Resume()
	require.NoError(t, r.WaitAnswered(soon(t), incr, 1))
	assert.Equal(t, "1", r.value(t, "n"))
}

func TestHeldRequestEndsWithItsServer(t *testing.T) {
	r := newRig(t)
	r.HoldRequest(time.Hour, 1, incr)
	c := connect(t, r.Addr())
	c.send("INCR", "n")
	require.NoError(t, r.WaitReceived(soon(t), incr, 1))
	r.server.Stop()
	assert.Error(t, c.end())
	assert.Zero(t, r.Seen(incr))
}

func TestRepeatRequest(t *testing.T) {
	for _, hello := range []bool{true, false} {
		r := newRig(t, redistest.Config("requirepass", "secret"))
		r.RepeatRequest(late, 1, incr)
		c := connect(t, r.Addr())
		if hello {
			c.hello("3", "AUTH", "default", "secret")
		}
		c.send("AUTH", "secret")
		c.send("AUTH", "wrong")
		c.send("SELECT", "3")
		c.send("SELECT", "999")
		assert.Regexp(t, `^\+OK -WRONGPASS .* \+OK -ERR`, c.lines(4))
		start := time.Now()
		c.send("INCR", "n")
		assert.Equal(t, ":1", c.line())
		require.NoError(t, r.WaitAnswered(soon(t), incr, 2))
		assert.GreaterOrEqual(t, time.Since(start), late)
		assert.Equal(t, 2, r.Seen(incr))
		db3 := r.server.Client(t, func(o *redis.Options) { o.DB = 3 })
		assert.Equal(t, "2", db3.Get(t.Context(), "n").Val())
		c.requireQuiet()
	}
}

func TestRepeatRequestToADeadServerIsNothing(t *testing.T) {
	blpop := faultproxy.Command("blpop")
	r := newRig(t)
	r.RepeatRequest(0, 1, blpop)
	c := connect(t, r.Addr())
	c.send("BLPOP", "list", "0")
	require.NoError(t, r.Wait(soon(t), blpop, 1))
	r.BlackHole(true) // the repetition must wait until the server is gone
	require.NoError(t, r.admin.RPush(t.Context(), "list", "x", "y").Err())
	require.NoError(t, r.WaitAnswered(soon(t), blpop, 1))
	r.server.Kill()
	r.BlackHole(false)
	assert.Equal(t, "*2 $4 list $1 x", c.lines(5))
	ctx, cancel := context.WithTimeout(t.Context(), late)
	defer cancel()
	assert.ErrorIs(t, r.Wait(ctx, blpop, 2), context.DeadlineExceeded)
}

func TestRefuseRequest(t *testing.T) {
	r := newRig(t)
	r.RefuseRequest("-LOADING wait a bit", 2, incr)
	c := connect(t, r.Addr())
	c.send("INCR", "n")
	assert.Equal(t, "-LOADING wait a bit", c.line())
	err := r.client(t).Incr(soon(t), "n").Err()
	assert.True(t, redis.IsLoadingError(err), "%v", err)
	assert.Zero(t, r.Seen(incr))
	assert.Equal(t, 2, r.Received(incr))
	assert.Equal(t, int64(1), r.client(t).Incr(soon(t), "n").Val())
}

func TestRefusalKeepsItsPlace(t *testing.T) {
	r := newRig(t)
	r.RefuseRequest("ERR first\r\n", 1, incr)
	r.HoldRequest(late, 1, incr)
	r.RefuseRequest("-ERR second", 1, incr)
	r.HoldRequest(late, 1, ping)
	c := connect(t, r.Addr())
	c.send("ECHO", "a")
	c.send("INCR", "n")
	c.send("INCR", "n")
	c.send("PING")
	c.send("INCR", "n")
	assert.Equal(t, "$1 a -ERR first -ERR second +PONG :1", c.lines(6))
	require.NoError(t, c.CloseWrite())
	assert.ErrorIs(t, c.end(), io.EOF)
}

func TestFaultsCombine(t *testing.T) {
	r := newRig(t)
	r.HoldRequest(late, 1, incr)
	r.CutAfterWrite(1, incr)
	r.RepeatRequest(0, 1, incr)
	c := connect(t, r.Addr())
	start := time.Now()
	c.send("INCR", "n")
	assert.ErrorIs(t, c.end(), syscall.ECONNRESET)
	assert.GreaterOrEqual(t, time.Since(start), late)
	require.NoError(t, r.WaitAnswered(soon(t), incr, 2))
	assert.Equal(t, "2", r.value(t, "n"))
}
