package redistest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
)

func TestBinaryIsLookedForInOrder(t *testing.T) {
	root := t.TempDir()
	named := executable(t, filepath.Join(root, "named", "my-server"))
	onPath := executable(t, filepath.Join(root, "bin", "redis-server"))
	cached := executable(t, filepath.Join(root, ".cache", "redis", "redis-server"))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "some", "package"), 0o700))
	t.Chdir(filepath.Join(root, "some", "package"))

	t.Setenv("RLOCK_REDIS_SERVER", named)
	t.Setenv("PATH", filepath.Dir(onPath))
	assertFound(t, named)
	t.Setenv("RLOCK_REDIS_SERVER", "")
	assertFound(t, onPath)
	t.Setenv("PATH", "")
	assertFound(t, cached)
	require.NoError(t, os.Remove(cached))
	assertMissing(t)
}

func TestNamedBinaryThatIsMissingIsNotReplaced(t *testing.T) {
	redistest.Require(t)
	t.Setenv("RLOCK_REDIS_SERVER", filepath.Join(t.TempDir(), "redis-server"))
	assertMissing(t)
}

func TestBinaryOutsideOfAnyModule(t *testing.T) {
	t.Chdir("/")
	t.Setenv("RLOCK_REDIS_SERVER", "")
	t.Setenv("PATH", "")
	path, found := redistest.Binary()
	assert.Equal(t, found, path != "") // the checkout may have one in its cache
}

func assertFound(t *testing.T, want string) {
	t.Helper()
	path, found := redistest.Binary()
	assert.True(t, found)
	assert.Equal(t, want, path)
}

func assertMissing(t *testing.T) {
	t.Helper()
	path, found := redistest.Binary()
	assert.False(t, found, path)
}

func executable(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
	return path
}
