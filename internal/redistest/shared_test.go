package redistest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/redistest"
)

func TestSharedServerIsOneForAll(t *testing.T) {
	s := redistest.Shared(t)
	assert.Same(t, s, redistest.Shared(t))
	assert.NoError(t, s.Raw(t).Ping(t.Context()).Err())
	for _, change := range []func(){s.Stop, s.Kill, s.Pause, s.Resume, func() { s.Restart(false) }} {
		assert.Panics(t, change)
	}
	assert.NotZero(t, s.PID())
}

func TestRunningServersCanBeOverlooked(t *testing.T) {
	before := goleak.IgnoreCurrent()
	redistest.Start(t)
	require.Error(t, goleak.Find(before))
	assert.NoError(t, goleak.Find(before, redistest.IgnoreServers()))
}

func TestMainStopsTheSharedServer(t *testing.T) {
	addr, cmd := startChild(t, "shared")
	require.NoError(t, cmd.Wait())
	assert.ErrorIs(t, dial(addr), syscall.ECONNREFUSED)
}

func TestServerDiesWithTheTestBinary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no other kernel offers it")
	}
	addr, cmd := startChild(t, "hang")
	require.NoError(t, dial(addr))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.Eventually(t, func() bool { return dial(addr) != nil }, 10*time.Second, 5*time.Millisecond)
}

// TestChild is what startChild runs in another process.
func TestChild(t *testing.T) {
	switch os.Getenv("REDISTEST_CHILD") {
	case "shared":
		fmt.Println("server", redistest.Shared(t).Addr())
	case "hang":
		fmt.Println("server", redistest.Start(t).Addr())
		select {}
	default:
		t.Skip("part of other tests")
	}
}

// startChild returns once the child has told the address of its server.
func startChild(t *testing.T, mode string) (string, *exec.Cmd) {
	t.Helper()
	redistest.Require(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), "REDISTEST_CHILD="+mode, "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr, found := strings.CutPrefix(strings.TrimSpace(line), "server ")
	require.True(t, found, line)
	return addr, cmd
}
