// Package servers starts the servers that hold the locks, each for one cell: a fresh one, on a free port of the loopback
// interface, with its state in memory alone.
//
// etcd, PostgreSQL and ZooKeeper want a disk. They get a directory on tmpfs (/dev/shm), which is said in the tables: none
// of their numbers contains the wait for a disk that their users would see.
package servers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rlock-go/rlock/bench/peers"
)

// Server is one running server.
type Server struct {
	Addr    string
	Version string

	proc *process
	stop func() // ends proc
	dir  string
}

// ErrMissing means that this machine does not have the server, or lacks what it takes to run it.
var ErrMissing = errors.New("not on this machine")

// patience is how long a server may take to come up; machines are busy.
const patience = 30 * time.Second

// Start starts a server of that kind.
func Start(ctx context.Context, store peers.Store) (*Server, error) {
	starts := map[peers.Store]func(context.Context, string) (*Server, error){
		peers.Redis: startRedis, peers.Etcd: startEtcd, peers.Postgres: startPostgres, peers.ZooKeeper: startZooKeeper,
	}
	start, ok := starts[store]
	if !ok {
		return nil, fmt.Errorf("servers: no server of kind %q", store)
	}
	dir, err := os.MkdirTemp(memoryDir(), "rlock-bench-")
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	s, err := start(ctx, dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("servers: %s: %w", store, err), os.RemoveAll(dir))
	}
	s.dir = dir
	return s, nil
}

// Stop kills the server and deletes what it left.
func (s *Server) Stop() error {
	if s.stop == nil {
		s.stop = s.proc.kill
	}
	s.stop()
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	return nil
}

// CPU is what the server has spent so far on all cores.
func (s *Server) CPU() (time.Duration, error) { return s.proc.cpu() }

// memoryDir is where files cost no disk, if the machine has such a place.
func memoryDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// Ports are taken from below the range that kernels give to outgoing connections: one of those could sit on the port before
// the server does.
const (
	firstPort = 17000
	lastPort  = 31999
)

// freePort returns a port that nobody listens on at this moment.
func freePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("no free port found between %d and %d", firstPort, lastPort)
}

// awaitPort returns when somebody listens there, or the process ended first.
func awaitPort(ctx context.Context, proc *process, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-proc.done:
			return fmt.Errorf("it ended at once: %s", proc.log())
		case <-ctx.Done():
			proc.kill()
			return fmt.Errorf("it does not listen: %s", proc.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// logPath is where the output of a server in dir goes.
func logPath(dir string) string { return filepath.Join(dir, "log") }
