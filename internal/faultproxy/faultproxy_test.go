package faultproxy_test

import (
	"io"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
)

func TestProxyChangesNothingByItself(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run("RESP"+strconv.Itoa(protocol), func(t *testing.T) {
			r := newRig(t)
			client := r.client(t, func(o *redis.Options) { o.Protocol = protocol })
			ctx := soon(t)
			large := strings.Repeat("\r\n$5\r\nlarge", 1<<20)
			require.NoError(t, client.Set(ctx, "large", large, 0).Err())
			require.Equal(t, large, client.Get(ctx, "large").Val())
			require.NoError(t, client.HSet(ctx, "hash", "field", "value").Err())
			require.Equal(t, map[string]string{"field": "value"}, client.HGetAll(ctx, "hash").Val())
			require.ErrorIs(t, client.Get(ctx, "nothing").Err(), redis.Nil)
			require.ErrorContains(t, client.Incr(ctx, "hash").Err(), "WRONGTYPE")
			require.NoError(t, client.ZAdd(ctx, "zset", redis.Z{Score: 1.5, Member: "m"}).Err())
			require.InDelta(t, 1.5, client.ZScore(ctx, "zset", "m").Val(), 0)
			nested, err := client.Eval(ctx, "return {1,{'a',{}},false,'b'}", nil).Result()
			require.NoError(t, err)
			require.Equal(t, []any{int64(1), []any{"a", []any{}}, nil, "b"}, nested)
			require.NotEmpty(t, client.Command(ctx).Val())
			_, err = client.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, "n").Err() })
			require.NoError(t, err)
		})
	}
}

func TestPipelinesKeepTheirOrder(t *testing.T) {
	r := newRig(t)
	client := r.client(t)
	commands, err := client.Pipelined(soon(t), func(p redis.Pipeliner) error {
		for range 10_000 {
			p.Incr(t.Context(), "n")
		}
		return nil
	})
	require.NoError(t, err)
	for i, command := range commands {
		require.Equal(t, int64(i+1), command.(*redis.IntCmd).Val())
	}
	assert.Equal(t, 10_000, r.Answered(faultproxy.Command("incr")))
}

func TestRESP3TypesAndAttributesPass(t *testing.T) {
	redistest.RequireVersion(t, 7, 0)
	r := newRig(t, redistest.Config("enable-debug-command", "yes"))
	behind, direct := connect(t, r.Addr()), connect(t, r.server.Addr())
	for _, c := range []*conn{behind, direct} {
		c.send("HELLO", "3")
		for _, kind := range []string{"string", "integer", "double", "null", "array", "set", "map", "attrib", "push", "verbatim", "true", "bignum"} {
			c.send("DEBUG", "PROTOCOL", kind)
		}
		c.send("ECHO", "end")
	}
	for {
		got, want := behind.line(), direct.line()
		if _, isID := strings.CutPrefix(want, ":"); !isID { // HELLO tells the connection's number
			require.Equal(t, want, got)
		}
		if want == "end" {
			break
		}
	}
	assert.Equal(t, 1, r.Answered(faultproxy.Command("echo")))

	r.DropReply(1, faultproxy.Command("echo"))
	behind.send("DEBUG", "PROTOCOL", "attrib")
	behind.send("ECHO", "lost")
	assert.Contains(t, behind.lines(9), "Some real reply", "an attribute is no reply")
	behind.requireQuiet()
}

func TestInlineAndEmptyRequests(t *testing.T) {
	r := newRig(t)
	c := connect(t, r.Addr())
	_, err := io.WriteString(c, "\r\n*0\r\nSET key  value\r\n*-1\r\n"+request("GET", "key")+"PING\r\n")
	require.NoError(t, err)
	assert.Equal(t, "+OK $5 value +PONG", c.lines(4))
	assert.Equal(t, 3, r.Answered(nil))
	assert.Equal(t, 1, r.Seen(faultproxy.And(faultproxy.Command("set"), faultproxy.Word("value"))))
}

func TestGarbageIsTheServersToJudge(t *testing.T) {
	for _, garbage := range []string{"*1\r\n+x\r\n", "*x\r\n", "*1\r\n$-1\r\n", "*1\r\n$99999999999\r\n"} {
		r := newRig(t)
		c := connect(t, r.Addr())
		_, err := io.WriteString(c, garbage)
		require.NoError(t, err)
		assert.Contains(t, c.line(), "-ERR Protocol error")
		assert.ErrorIs(t, c.end(), io.EOF)
	}
}

func TestServersThatTalkNonsenseAreCutOff(t *testing.T) {
	for _, nonsense := range []string{"nonsense\r\n", "$x\r\n", "*x\r\n", "$5\r\nab"} {
		addr := serve(t, func(c io.ReadWriter) {
			_, _ = c.Read(make([]byte, 1024))
			_, _ = io.WriteString(c, nonsense)
		})
		c := connect(t, faultproxy.New(t, addr).Addr())
		c.send("PING")
		assert.ErrorIs(t, c.end(), syscall.ECONNRESET, nonsense)
	}
}

func TestEndsPassThrough(t *testing.T) {
	t.Run("server hangs up", func(t *testing.T) {
		r := newRig(t)
		c := connect(t, r.Addr())
		c.send("QUIT")
		assert.Equal(t, "+OK", c.line())
		assert.ErrorIs(t, c.end(), io.EOF)
	})
	t.Run("server is not there", func(t *testing.T) {
		r := newRig(t)
		r.server.Stop()
		requireCutOff(t, r.client(t).Ping(soon(t)).Err())
	})
	t.Run("server comes back", func(t *testing.T) {
		r := newRig(t)
		c := connect(t, r.Addr())
		c.send("PING")
		c.line()
		r.server.Kill()
		require.Error(t, c.end())
		r.server.Restart(false)
		assert.NoError(t, r.client(t).Ping(soon(t)).Err())
	})
	t.Run("client hangs up", func(t *testing.T) {
		r := newRig(t)
		c := connect(t, r.Addr())
		c.send("CLIENT", "SETNAME", "guest")
		assert.Equal(t, "+OK", c.line())
		c.send("BLPOP", "list", "0")
		require.NoError(t, r.Wait(soon(t), faultproxy.Command("blpop"), 1))
		require.NoError(t, c.Close())
		requireGone(t, r, "guest")
	})
	t.Run("client hangs up half", func(t *testing.T) {
		r := newRig(t)
		c := connect(t, r.Addr())
		c.send("PING")
		require.NoError(t, c.CloseWrite())
		assert.Equal(t, "+PONG", c.line())
		assert.ErrorIs(t, c.end(), io.EOF)
	})
}
