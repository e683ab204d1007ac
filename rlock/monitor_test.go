package rlock_test

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
)

// monitor hears every command that a server runs for a client. It wants a server of its own.
type monitor struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Scanner
	mark  *redis.Client
}

// watch begins with what the server runs from now on.
func watch(t *testing.T, srv *redistest.Server) *monitor {
	t.Helper()
	m := &monitor{t: t, mark: srv.Raw(t)}
	require.NoError(t, m.mark.Ping(t.Context()).Err()) // connected, so that the marks are single commands
	conn, err := net.Dial("tcp", srv.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	m.conn = conn
	_, err = conn.Write([]byte("MONITOR\r\n"))
	require.NoError(t, err)
	m.lines = bufio.NewScanner(conn)
	require.True(t, m.lines.Scan())
	require.Equal(t, "+OK", m.lines.Text())
	return m
}

// commands lists the names of the commands since the last call, in lower case. The commands inside scripts do not count:
// they cost no round trip. Neither does what go-redis says once on each new connection.
func (m *monitor) commands() []string {
	m.t.Helper()
	end := uuid.NewString()
	require.NoError(m.t, m.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	require.NoError(m.t, m.mark.Echo(m.t.Context(), end).Err())
	var names []string
	for m.lines.Scan() {
		_, command, _ := strings.Cut(m.lines.Text(), "] ")
		if strings.Contains(command, end) {
			return names
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(command), `"`), `"`)
		if !strings.Contains(m.lines.Text(), " lua] ") && name != "hello" && name != "client" {
			names = append(names, name)
		}
	}
	require.NoError(m.t, m.lines.Err())
	m.t.Fatal("the server stopped talking")
	return nil
}

// settle returns when nothing but pings came for a while, and forgets what came before.
func (m *monitor) settle() {
	m.t.Helper()
	began := time.Now()
	for still := 0; still < 10; still++ {
		require.Less(m.t, time.Since(began), 20*time.Second, "it does not come to rest")
		time.Sleep(20 * time.Millisecond)
		if sent := m.count(); total(sent) > sent["ping"] {
			still = 0
		}
	}
}

// count is how many commands of each name came since the last call.
func (m *monitor) count() map[string]int {
	m.t.Helper()
	n := map[string]int{}
	for _, name := range m.commands() {
		n[name]++
	}
	return n
}

// cachedScripts is how many scripts the server keeps.
func cachedScripts(t *testing.T, raw *redis.Client) string {
	t.Helper()
	_, after, found := strings.Cut(raw.Info(t.Context(), "memory").Val(), "number_of_cached_scripts:")
	require.True(t, found)
	count, _, _ := strings.Cut(after, "\r")
	return count
}
