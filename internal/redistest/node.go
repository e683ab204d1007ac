package redistest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds what a server may take to come up or to go down; it is long
// because test machines are busy.
const patience = 30 * time.Second

var (
	// errPortTaken says that the server could not listen: somebody was faster.
	errPortTaken = errors.New("port is taken")
	// errNoTLS says that this server was built without TLS, as many are.
	errNoTLS = errors.New("this redis-server speaks no TLS")
)

// node is one redis-server with its directory and port, through any number of
// runs. It knows nothing of tests, so that every topology can be made of nodes
// and a server can outlive the test that started it.
type node struct {
	settings settings
	dir      string
	port     int
	tls      *tls.Config // nil without TLS

	mu   sync.Mutex // guards proc; not held while waiting for the server
	proc *process   // the latest run; nil before the first
}

// newNode prepares a directory and starts a server in it, on a port of its own.
func newNode(s settings) (*node, error) {
	dir, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return nil, err
	}
	n := &node{settings: s, dir: dir}
	if err := n.bringUp(); err != nil {
		n.remove()
		return nil, err
	}
	return n, nil
}

func (n *node) bringUp() error {
	if n.settings.tls {
		config, err := makeCertificates(n.dir)
		if err != nil {
			return fmt.Errorf("making certificates: %w", err)
		}
		n.tls = config
	}
	for range 20 {
		port, err := freePort()
		if err != nil {
			return err
		}
		n.port = port
		if err = n.start(); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return errPortTaken
}

// start runs the server on the node's port and returns when it answers.
func (n *node) start() error {
	if err := n.writeConfig(); err != nil {
		return err
	}
	log, err := os.OpenFile(n.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	cmd := exec.Command(n.settings.binary, append([]string{n.configPath()}, n.settings.args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dataDir(), log, log
	proc, err := launch(cmd)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.proc = proc
	n.mu.Unlock()
	return n.awaitAnswer(proc, offset)
}

// restart starts the server again on the port it had, and insists for a while
// when somebody sits on it.
func (n *node) restart() error {
	deadline := time.Now().Add(patience)
	for {
		err := n.start()
		if !errors.Is(err, errPortTaken) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// latest returns the run that is under way, else the last one; nil before any.
func (n *node) latest() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc
}

// running returns the run that is under way, or nil.
func (n *node) running() *process {
	if proc := n.latest(); proc != nil && !proc.ended() {
		return proc
	}
	return nil
}

// end sends the signal and waits until the server is reaped. A server that does
// not follow is killed, and that is an error.
func (n *node) end(sig syscall.Signal) error {
	proc := n.running()
	if proc == nil {
		return nil
	}
	proc.ordered.Store(true)
	proc.signal(sig)
	proc.signal(syscall.SIGCONT) // a paused server heeds SIGKILL alone
	select {
	case <-proc.done:
		return nil
	case <-time.After(patience):
		proc.signal(syscall.SIGKILL)
		<-proc.done
		return fmt.Errorf("redis-server did not end within %v of %v", patience, sig)
	}
}

// remove kills the server and deletes everything of it.
func (n *node) remove() {
	_ = n.end(syscall.SIGKILL)
	_ = os.RemoveAll(n.dir)
}

// forget deletes the data, so that the next run starts empty.
func (n *node) forget() error { return os.RemoveAll(n.dataDir()) }

func (n *node) addr() string       { return fmt.Sprintf("127.0.0.1:%d", n.port) }
func (n *node) configPath() string { return filepath.Join(n.dir, "redis.conf") }
func (n *node) logPath() string    { return filepath.Join(n.dir, "redis.log") }
func (n *node) dataDir() string    { return filepath.Join(n.dir, "data") }

// logFrom returns what the server wrote after the offset.
func (n *node) logFrom(offset int64) string {
	all, err := os.ReadFile(n.logPath())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(all[min(offset, int64(len(all))):]))
}
