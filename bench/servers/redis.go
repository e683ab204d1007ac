package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// startRedis runs RLOCK_REDIS_SERVER, else the redis-server on the PATH, without persistence.
func startRedis(ctx context.Context, dir string) (*Server, error) {
	binary := os.Getenv("RLOCK_REDIS_SERVER")
	if binary == "" {
		binary = "redis-server"
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	proc, err := launch(exec.Command(path, //nolint:gosec // what the caller's environment names
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir), dir)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: "127.0.0.1:" + strconv.Itoa(port), proc: proc, Version: redisVersion(ctx, path)}
	return s, awaitPort(ctx, proc, s.Addr)
}

// redisVersion is what the binary says of itself, without the details of its build.
func redisVersion(ctx context.Context, path string) string {
	out, err := exec.CommandContext(ctx, path, "--version").Output() //nolint:gosec // see above
	if err != nil {
		return "unknown"
	}
	words := strings.Fields(string(out))
	return strings.Join(words[:min(3, len(words))], " ")
}
