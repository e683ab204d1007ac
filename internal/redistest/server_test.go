package redistest_test

import (
	"context"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestServerKeepsToItself(t *testing.T) {
	s := redistest.Start(t)
	admin := s.Raw(t)
	require.NoError(t, admin.Ping(t.Context()).Err())
	assert.Equal(t, "127.0.0.1:"+strconv.Itoa(s.Port()), s.Addr())
	assert.Contains(t, admin.Info(t.Context(), "server").Val(), "process_id:"+strconv.Itoa(s.PID()))
	settings := admin.ConfigGet(t.Context(), "*").Val()
	assert.Equal(t, "127.0.0.1", settings["bind"])
	assert.Empty(t, settings["save"])
	assert.Equal(t, "no", settings["appendonly"])
	assert.Equal(t, "no", settings["daemonize"])
	assert.Nil(t, s.TLSConfig())
}

func TestTwoServersShareNothing(t *testing.T) {
	one, two := redistest.Start(t), redistest.Start(t)
	require.NoError(t, one.Raw(t).Set(t.Context(), "key", "one", 0).Err())
	assert.Zero(t, two.Raw(t).Exists(t.Context(), "key").Val())
	assert.NotEqual(t, one.PID(), two.PID())
}

func TestOptionsReachTheServer(t *testing.T) {
	s := redistest.Start(t,
		redistest.Config("maxmemory", "1mb"),
		redistest.Config("maxmemory", "2mb"),
		redistest.Config("save", "3600 1"),
		redistest.Config("user", "bob on >secret ~* +@all"),
		redistest.Config("requirepass", "open"),
		redistest.Config("notify-keyspace-events", ""),
		redistest.Args("--databases", "3"),
	)
	settings := s.Raw(t).ConfigGet(t.Context(), "*").Val()
	assert.Equal(t, "2097152", settings["maxmemory"])
	assert.Equal(t, "3600 1", settings["save"])
	assert.Equal(t, "3", settings["databases"])
	assert.Empty(t, settings["notify-keyspace-events"])

	bob := s.Client(t, func(o *redis.Options) { o.Username, o.Password = "bob", "secret" })
	assert.NoError(t, bob.Ping(t.Context()).Err())
	stranger := s.Client(t, func(o *redis.Options) { o.Password = "" })
	assert.ErrorContains(t, stranger.Ping(t.Context()).Err(), "NOAUTH")
}

func TestServerWithoutAWayInIsUpAllTheSame(t *testing.T) {
	s := redistest.Start(t, redistest.Config("user", "default off"))
	assert.ErrorContains(t, s.Raw(t).Ping(t.Context()).Err(), "NOAUTH")
}

func TestTLSServerTalksTLSAlone(t *testing.T) {
	s := redistest.Start(t, redistest.TLS(), redistest.Config("tls-auth-clients", "yes"))
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
	plain := s.Client(t, func(o *redis.Options) { o.TLSConfig, o.MaxRetries = nil, -1 })
	assert.Error(t, plain.Ping(t.Context()).Err())
	assert.NotSame(t, s.TLSConfig(), s.TLSConfig())
}

func TestStopAndKillAreOverWhenTheyReturn(t *testing.T) {
	for name, end := range map[string]func(*redistest.Server){
		"stop":                 (*redistest.Server).Stop,
		"kill":                 (*redistest.Server).Kill,
		"stop while suspended": func(s *redistest.Server) { s.Pause(); s.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			pid := s.PID()
			end(s)
			assert.Zero(t, s.PID())
			assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
			assert.ErrorIs(t, dial(s.Addr()), syscall.ECONNREFUSED)
			end = (*redistest.Server).Stop
			end(s) // once more is nothing
		})
	}
}

func TestPausedServerAnswersNothing(t *testing.T) {
	s := redistest.Start(t)
	client := s.Client(t, func(o *redis.Options) { o.MaxRetries, o.ContextTimeoutEnabled = -1, true })
	require.NoError(t, client.Ping(t.Context()).Err())
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, client.Ping(ctx).Err())
	require.NoError(t, dial(s.Addr()), "the kernel accepts for it")
	s.Resume()
	assert.NoError(t, client.Ping(t.Context()).Err())
}

func TestRestartKeepsWhatItIsAskedToKeep(t *testing.T) {
	s := redistest.Start(t, redistest.AppendOnly())
	admin, addr, pid := s.Raw(t), s.Addr(), s.PID()
	require.NoError(t, admin.Set(t.Context(), "key", "kept", 0).Err())
	s.Kill()
	s.Restart(true)
	assert.Equal(t, "kept", admin.Get(t.Context(), "key").Val())
	s.Restart(false)
	assert.Zero(t, admin.Exists(t.Context(), "key").Val())
	assert.Equal(t, addr, s.Addr())
	assert.NotEqual(t, pid, s.PID())
}

func TestRestartWaitsForItsPort(t *testing.T) {
	s := redistest.Start(t)
	s.Stop()
	squatter, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)
	go func() {
		for range 2 { // the second look at the port is after the server met the squatter
			if conn, err := squatter.Accept(); err == nil {
				_ = conn.Close()
			}
		}
		_ = squatter.Close()
	}()
	s.Restart(false)
	assert.NoError(t, s.Raw(t).Ping(t.Context()).Err())
}

func dial(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err
}
