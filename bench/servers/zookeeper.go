package servers

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// startZooKeeper runs a server alone from the jars that java/prepare.sh fetched.
func startZooKeeper(ctx context.Context, dir string) (*Server, error) {
	jars, err := filepath.Glob(filepath.Join(JavaDir(), "zookeeper", "lib", "zookeeper-3*.jar"))
	if err != nil {
		return nil, err
	}
	java, err := exec.LookPath("java")
	if err != nil || len(jars) == 0 {
		return nil, fmt.Errorf("%w: no java, or none of its jars: see java/prepare.sh", ErrMissing)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("clientPort=%d\nclientPortAddress=127.0.0.1\ndataDir=%s\ntickTime=2000\nmaxClientCnxns=0\n"+
		"admin.enableServer=false\nforceSync=no\n4lw.commands.whitelist=srvr\n", port, filepath.Join(dir, "data"))
	path := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	proc, err := launch(exec.Command(java, "-cp", filepath.Join(filepath.Dir(jars[0]), "*"), //nolint:gosec // found above
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", path), dir)
	if err != nil {
		return nil, err
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "zookeeper-"), ".jar")
	s := &Server{Addr: "127.0.0.1:" + strconv.Itoa(port), proc: proc, Version: "ZooKeeper " + version + ", state on tmpfs"}
	return s, awaitZooKeeper(ctx, s)
}

// awaitZooKeeper returns when the server serves. It listens earlier, and a session that is asked for then gets no answer.
func awaitZooKeeper(ctx context.Context, s *Server) error {
	if err := awaitPort(ctx, s.proc, s.Addr); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !serves(ctx, s.Addr) {
		select {
		case <-s.proc.done:
			return fmt.Errorf("it ended at once: %s", s.proc.log())
		case <-ctx.Done():
			s.proc.kill()
			return fmt.Errorf("it does not serve: %s", s.proc.log())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// serves asks for the server's status.
func serves(ctx context.Context, addr string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return false
	}
	answer, err := io.ReadAll(conn)
	return err == nil && strings.Contains(string(answer), "Mode:")
}

// JavaDir is the folder of what runs on Java. The benchmark runs in its module's folder.
func JavaDir() string {
	dir, err := filepath.Abs("java")
	if err != nil {
		return "java"
	}
	return dir
}
