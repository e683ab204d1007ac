package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// startPostgres makes a cluster of databases in dir and serves it. PostgreSQL refuses to run as root; then it runs as the
// user that its package made.
func startPostgres(ctx context.Context, dir string) (*Server, error) {
	initdb, err := postgresProgram("initdb")
	if err != nil {
		return nil, err
	}
	attr, err := postgresUser(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	cmd := exec.CommandContext(ctx, initdb, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync") //nolint:gosec // found above
	cmd.SysProcAttr, cmd.Dir = attr, dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	postgres := filepath.Join(filepath.Dir(initdb), "postgres")
	cmd = exec.Command(postgres, "-D", data, "-p", strconv.Itoa(port), //nolint:gosec // beside initdb
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=640", "-c", "fsync=off")
	cmd.SysProcAttr, cmd.Dir = attr, dir
	proc, err := launch(cmd, dir)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Addr: "127.0.0.1:" + strconv.Itoa(port), proc: proc, stop: proc.quit,
		Version: postgresVersion(ctx, postgres) + ", state on tmpfs",
	}
	return s, awaitPostgres(ctx, s)
}

// awaitPostgres returns when the server takes sessions: it listens earlier.
func awaitPostgres(ctx context.Context, s *Server) error {
	if err := awaitPort(ctx, s.proc, s.Addr); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, "postgres://postgres@"+s.Addr+"/postgres?sslmode=disable")
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.proc.done:
			return fmt.Errorf("it ended at once: %s", s.proc.log())
		case <-ctx.Done():
			s.stop()
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// postgresProgram finds a program of the server, which Debian keeps off the PATH. The newest version is taken.
func postgresProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%w: no %s; in Debian the package is postgresql", ErrMissing, name)
	}
	return slices.Max(found), nil
}

// postgresUser gives dir to the user who may run the server, and says who that is; nil is the present one.
func postgresUser(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func postgresVersion(ctx context.Context, postgres string) string {
	out, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return "PostgreSQL"
	}
	words := strings.Fields(string(out))
	return "PostgreSQL " + words[min(2, len(words)-1)]
}
