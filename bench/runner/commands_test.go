package runner_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/runner"
	"github.com/rlock-go/rlock/bench/servers"
)

// TestCommandsAsMonitorSeesThem compares what is counted as sent with what the server says was sent: MONITOR marks what
// scripts run. It fails when a peer's scripts use a command that its Commands do not know.
func TestCommandsAsMonitorSeesThem(t *testing.T) {
	for _, p := range peers.All() {
		if p.Store != peers.Redis || p.Java {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			server := startRedis(t)
			client, err := p.Open(peers.Config{Addr: server.Addr, Goroutines: 4, Lease: 3 * time.Second})
			if p.Name != peers.BareScripts {
				require.NoError(t, client.Close())
				client, err = p.Open(peers.Config{Addr: server.Addr, Goroutines: 4, Contended: true, Lease: 3 * time.Second})
			}
			require.NoError(t, err)
			work(t, client, p.Name == peers.BareScripts) // loads the scripts
			monitor := listen(t, server.Addr)
			before := calls(t, server.Addr)
			work(t, client, p.Name == peers.BareScripts)
			after := calls(t, server.Addr)
			for name, n := range before {
				after[name] -= n
			}
			sent := monitor.sent(t)
			assert.InDelta(t, sent, p.Commands.Sent(after), 0, "%v", after)
			assert.Positive(t, sent)
			require.NoError(t, client.Close())
		})
	}
}

// startRedis skips where no redis-server can be had, unless the caller insists on one, as make does wherever there is one.
func startRedis(t *testing.T) *servers.Server {
	t.Helper()
	server, err := servers.Start(t.Context(), peers.Redis)
	if errors.Is(err, servers.ErrMissing) && os.Getenv("RLOCK_REQUIRE_REDIS") != "1" {
		t.Skipf("SKIPPED: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Stop()) })
	return server
}

// work has four goroutines want one lock, or one each.
func work(t *testing.T, client peers.Client, apart bool) {
	t.Helper()
	var tasks sync.WaitGroup
	for i := range 4 {
		name := "hot"
		if apart {
			name = fmt.Sprint(i)
		}
		tasks.Go(func() {
			handle, err := client.Handle(name)
			if !assert.NoError(t, err) {
				return
			}
			for range 10 {
				assert.NoError(t, handle.Lock(t.Context()))
				assert.NoError(t, handle.Unlock(t.Context()))
			}
		})
	}
	tasks.Wait()
	time.Sleep(300 * time.Millisecond) // what goes on behind a release is part of it
}

// calls is what INFO counts, without what the benchmark itself and new connections say.
func calls(t *testing.T, addr string) map[string]int64 {
	t.Helper()
	counted, err := runner.Calls(context.WithoutCancel(t.Context()), addr)
	require.NoError(t, err)
	return counted
}

// monitor reads what MONITOR shows.
type monitor struct {
	conn  net.Conn
	lines *bufio.Scanner
	addr  string
}

func listen(t *testing.T, addr string) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = conn.Write([]byte("MONITOR\r\n"))
	require.NoError(t, err)
	m := &monitor{conn: conn, lines: bufio.NewScanner(conn), addr: addr}
	require.True(t, m.lines.Scan())
	require.Equal(t, "+OK", m.lines.Text())
	return m
}

// sent counts what clients sent between the first two INFOs.
func (m *monitor) sent(t *testing.T) int {
	t.Helper()
	n, infos := 0, 0
	for infos < 2 && m.lines.Scan() {
		line := strings.ToLower(m.lines.Text())
		switch {
		case strings.Contains(line, `] "info"`):
			infos++
		case infos == 0, strings.Contains(line, " lua] "), strings.Contains(line, `] "client"`), strings.Contains(line, `] "hello"`):
		default:
			n++
		}
	}
	require.NoError(t, m.lines.Err())
	return n
}
