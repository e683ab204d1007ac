package stress_test

import (
	"os"
	"testing"

	"github.com/rlock-go/rlock/internal/redistest"
)

// TestMain runs the tests, or plays a part in one: some attacks take several processes, and each is this very binary.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(play(role))
	}
	redistest.Main(m)
}
