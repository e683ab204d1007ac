package faultproxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/faultproxy"
	"github.com/rlock-go/rlock/internal/redistest"
)

// patience is what something that must happen may take on a busy machine.
const patience = 20 * time.Second

func TestMain(m *testing.M) { redistest.Main(m) }

// rig is a server with a proxy in front, and a client that goes around the proxy.
type rig struct {
	*faultproxy.Proxy
	server *redistest.Server
	admin  *redis.Client
}

func newRig(t *testing.T, opts ...redistest.Option) rig {
	t.Helper()
	server := redistest.Start(t, opts...)
	return rig{Proxy: faultproxy.New(t, server.Addr()), server: server, admin: server.Raw(t)}
}

// client is a go-redis client behind the proxy that tries everything once.
func (r rig) client(t *testing.T, changes ...func(*redis.Options)) *redis.Client {
	t.Helper()
	changes = append([]func(*redis.Options){func(o *redis.Options) {
		o.Addr, o.MaxRetries, o.ContextTimeoutEnabled = r.Addr(), -1, true
	}}, changes...)
	return r.server.Client(t, changes...)
}

// value is what the server itself says of a key; "" if it is not there.
func (r rig) value(t *testing.T, key string) string {
	t.Helper()
	value, err := r.admin.Get(t.Context(), key).Result()
	if err != nil {
		require.ErrorIs(t, err, redis.Nil)
	}
	return value
}

// conn is a connection without a client library.
type conn struct {
	*net.TCPConn
	t *testing.T
	r *bufio.Reader
}

func connect(t *testing.T, addr string) *conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &conn{TCPConn: c.(*net.TCPConn), t: t, r: bufio.NewReader(c)}
}

// send writes a request and does not wait.
func (c *conn) send(words ...string) {
	c.t.Helper()
	_, err := c.Write([]byte(request(words...)))
	require.NoError(c.t, err)
}

func request(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

// line reads one line of a reply.
func (c *conn) line() string {
	c.t.Helper()
	line, err := c.read(patience)
	require.NoError(c.t, err)
	return line
}

// lines reads as many lines and joins them with blanks.
func (c *conn) lines(n int) string {
	c.t.Helper()
	all := make([]string, n)
	for i := range all {
		all[i] = c.line()
	}
	return strings.Join(all, " ")
}

func (c *conn) read(within time.Duration) (string, error) {
	_ = c.SetReadDeadline(time.Now().Add(within))
	line, err := c.r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// end reads until the connection is over, and says how it ended.
func (c *conn) end() error {
	for {
		if _, err := c.read(patience); err != nil {
			return err
		}
	}
}

// requireQuiet looks for a while whether something comes that must not.
func (c *conn) requireQuiet() {
	c.t.Helper()
	line, err := c.read(50 * time.Millisecond)
	require.ErrorIs(c.t, err, os.ErrDeadlineExceeded, line)
}

// requireCutOff accepts EOF for a reset: where it looks for pushes, go-redis eats
// the real reason.
func requireCutOff(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for _, kind := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF} {
		if errors.Is(err, kind) {
			return
		}
	}
	require.Fail(t, "not cut off", "%v", err)
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
