package redistest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// binaryEnv names the server to use, before any that the machine has.
const binaryEnv = "RLOCK_REDIS_SERVER"

// Binary returns the path of the redis-server that [Start] runs by default, and
// whether there is one: RLOCK_REDIS_SERVER, else redis-server on the PATH, else
// the one that scripts/redis-server.sh put into the repository's .cache. A set
// RLOCK_REDIS_SERVER decides alone, so that a wrong path is noticed instead of
// testing another server than the one asked for.
func Binary() (string, bool) {
	if path := os.Getenv(binaryEnv); path != "" {
		return runnable(path)
	}
	if path, err := exec.LookPath("redis-server"); err == nil {
		return runnable(path)
	}
	return runnable(filepath.Join(repository(), ".cache", "redis", "redis-server"))
}

// runnable makes the path absolute: the server runs in a directory of its own.
func runnable(path string) (string, bool) {
	path, err := exec.LookPath(path)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}

// repository is the root of this module's checkout. The test binary runs in the
// directory of its package, so the walk up finds go.mod; the source's own path
// is the answer where a test changed directory.
func repository() string {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			_, source, _, _ := runtime.Caller(0)
			return filepath.Join(filepath.Dir(source), "..", "..")
		}
	}
}
