package faultproxy_test

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
)

func TestBlackHoleDeliversAfterwards(t *testing.T) {
	r := newRig(t)
	old, gone := connect(t, r.Addr()), connect(t, r.Addr())
	for _, c := range []*conn{old, gone} {
		c.send("PING")
		require.Equal(t, "+PONG", c.line())
	}
	r.BlackHole(true)
	r.BlackHole(true) // once more is nothing
	young := connect(t, r.Addr())
	old.send("APPEND", "old", "x")
	young.send("APPEND", "young", "x")
	gone.send("APPEND", "gone", "x")
	require.NoError(t, gone.Close())
	old.requireQuiet()
	young.requireQuiet()
	assert.Equal(t, 2, r.Seen(nil), "the two PINGs")

	r.BlackHole(false)
	assert.Equal(t, ":1", old.line())
	assert.Equal(t, ":1", young.line())
	require.NoError(t, r.WaitAnswered(soon(t), faultproxy.Word("gone"), 1))
	assert.Equal(t, "x", r.value(t, "gone"))
}

func TestBlackHoleKeepsReplies(t *testing.T) {
	r := newRig(t)
	c := connect(t, r.Addr())
	c.send("BLPOP", "list", "0")
	require.NoError(t, r.Wait(soon(t), faultproxy.Command("blpop"), 1))
	r.BlackHole(true)
	require.NoError(t, r.admin.RPush(t.Context(), "list", "x").Err())
	require.NoError(t, r.WaitAnswered(soon(t), faultproxy.Command("blpop"), 1))
	c.requireQuiet()
	r.Heal()
	assert.Equal(t, "*2 $4 list $1 x", c.lines(5))
}

func TestCutInABlackHoleLosesWhatGathered(t *testing.T) {
	r := newRig(t)
	old := connect(t, r.Addr())
	old.send("PING")
	require.Equal(t, "+PONG", old.line())
	r.BlackHole(true)
	young := connect(t, r.Addr())
	old.send("APPEND", "key", "x")
	young.send("APPEND", "key", "x")
	old.requireQuiet()
	r.Cut()
	assert.ErrorIs(t, old.end(), syscall.ECONNRESET)
	assert.ErrorIs(t, young.end(), syscall.ECONNRESET)
	r.Heal()
	require.NoError(t, r.client(t).Ping(soon(t)).Err())
	assert.Empty(t, r.value(t, "key"))
}

func TestCutResetsBothSides(t *testing.T) {
	r := newRig(t)
	c := connect(t, r.Addr())
	c.send("CLIENT", "SETNAME", "guest")
	require.Equal(t, "+OK", c.line())
	r.Cut()
	assert.ErrorIs(t, c.end(), syscall.ECONNRESET)
	requireGone(t, r, "guest")
	assert.NoError(t, r.client(t).Ping(soon(t)).Err(), "the proxy itself goes on")
}

func TestRefuse(t *testing.T) {
	r := newRig(t)
	c := connect(t, r.Addr())
	c.send("PING")
	require.Equal(t, "+PONG", c.line())
	r.Refuse(true)
	r.Refuse(true)
	_, err := net.Dial("tcp", r.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	c.send("PING")
	assert.Equal(t, "+PONG", c.line())
	r.Refuse(false)
	r.Refuse(false)
	assert.NoError(t, r.client(t).Ping(soon(t)).Err())
}

func TestRefuseWaitsForItsPort(t *testing.T) {
	r := newRig(t)
	r.Refuse(true)
	squatter, err := net.Listen("tcp", r.Addr())
	require.NoError(t, err)
	time.AfterFunc(30*time.Millisecond, func() { _ = squatter.Close() })
	r.Heal()
	assert.NoError(t, r.client(t).Ping(soon(t)).Err())
}

func TestHealEndsEverything(t *testing.T) {
	r := newRig(t)
	all := faultproxy.Every
	r.DelayReplies(time.Hour)
	r.DropReply(all, nil)
	r.CutAfterWrite(all, nil)
	r.HoldRequest(time.Hour, all, nil)
	r.RepeatRequest(0, all, nil)
	r.RefuseRequest("-ERR no", all, nil)
	r.BlackHole(true)
	r.Refuse(true)
	r.Heal()
	assert.NoError(t, r.client(t).Incr(soon(t), "n").Err())
	assert.Equal(t, "1", r.value(t, "n"))
}

func TestProxyClosesWithFaultsUnderWay(t *testing.T) {
	r := newRig(t)
	var busy, lost net.Conn
	t.Run("its life", func(t *testing.T) {
		p := faultproxy.New(t, r.server.Addr())
		p.HoldRequest(time.Hour, 1, faultproxy.Command("get"))
		p.RepeatRequest(time.Hour, 1, faultproxy.Command("ping"))
		p.DelayReplies(time.Hour, faultproxy.Command("echo"))
		busy, lost = dial(t, p.Addr()), dial(t, p.Addr())
		_, err := io.WriteString(busy, "PING\r\nECHO x\r\nGET key\r\n")
		require.NoError(t, err)
		require.NoError(t, p.WaitAnswered(soon(t), faultproxy.Command("echo"), 1))
		p.BlackHole(true)
		_, err = io.WriteString(lost, "PING\r\n")
		require.NoError(t, err)
	})
	for _, c := range []net.Conn{busy, lost} {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
		_, err := io.Copy(io.Discard, c)
		assert.ErrorIs(t, err, syscall.ECONNRESET)
		assert.NoError(t, c.Close())
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	require.NoError(t, err)
	return c
}

// serve answers connections with the function, in the place of a server.
func serve(t *testing.T, talk func(io.ReadWriter)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			talk(c)
			_ = c.Close()
		}
	}()
	return listener.Addr().String()
}

// requireGone waits until the server has no connection of that name.
func requireGone(t *testing.T, r rig, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := r.admin.ClientList(t.Context()).Result()
		return err == nil && !strings.Contains(list, "name="+name+" ")
	}, patience, 5*time.Millisecond)
}
