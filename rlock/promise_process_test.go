package rlock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

const (
	childEnv      = "RLOCK_TEST_CHILD" // address, key and role, for the process that a test starts
	childWatchdog = 900 * time.Millisecond
)

// A holder's process is stopped for longer than its lease, and a rival gets in and out. When it goes on, Held is false at once
// and the context ends within 50 ms; the best of three counts, for the machine may be busy at that very moment.
func TestP1_AStoppedProcessKnowsOfItsLossAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	best := time.Hour
	for range 3 {
		p := r.startHolder("watches the clock")
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
		rival := someone()
		require.NoError(t, r.rival.Lock(rival, rlock.Wait(20*time.Second)))
		require.NoError(t, r.rival.Unlock(rival))
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
		var (
			held, lost bool
			after      time.Duration
		)
		line := p.line()
		_, err := fmt.Sscanf(line, "resumed %t %d %t", &held, &after, &lost)
		require.NoError(t, err, line)
		require.False(t, held, "at once")
		require.True(t, lost, "for the right reason")
		require.Less(t, after, 3*time.Second)
		best = min(best, after)
		require.Equal(t, "unlock lost", p.line())
		if best <= 50*time.Millisecond {
			break
		}
	}
	assert.LessOrEqual(t, best, 50*time.Millisecond)
}

// The holder's process is killed. The waiter gets in when its lease is over, no later.
func TestP7_TheHoldersProcessIsKilled(t *testing.T) {
	t.Parallel()
	r := newDreamer(t)
	late := watchStalls(t)
	p := r.startHolder("idles")
	waiter := someone()
	got := outcome(func() error { return r.lock.Lock(waiter) })
	r.asleep(1)
	passed(childWatchdog) // it was renewed more than once
	require.NoError(t, p.cmd.Process.Kill())
	from := instant()
	require.NoError(t, inTime(t, soonEnough, got, "the waiter"))
	assert.Less(t, instant()-from, childWatchdog+200*time.Millisecond+4*late.late())
	require.NoError(t, r.lock.Unlock(waiter))
}

// TestChild is no test by itself: it is what runs in the processes that the tests above start.
func TestChild(t *testing.T) {
	words := strings.SplitN(os.Getenv(childEnv), " ", 3)
	if len(words) < 3 {
		t.Skip("runs in the processes that other tests start")
	}
	rdb := redis.NewClient(&redis.Options{Addr: words[0]})
	defer rdb.Close()
	c := newClient(t, rdb, rlock.WithWatchdogTimeout(childWatchdog))
	h, err := c.NewLock(words[1]).Acquire(context.Background())
	require.NoError(t, err)
	told := h.Context()
	if words[2] == "idles" {
		fmt.Println("held")
		time.Sleep(time.Minute) // it is killed
		return
	}
	runtime.GOMAXPROCS(1) // so that nothing else runs between the gap and the first look
	now := instant()      // before the test can stop this process
	fmt.Println("held")
	for before := now; now-before < childWatchdog/2 && now < time.Minute; {
		before, now = now, instant()
	}
	held := h.Held()
	<-told.Done()
	fmt.Printf("resumed %t %d %t\n", held, instant()-now, errors.Is(context.Cause(told), rlock.ErrLost))
	if errors.Is(h.Release(context.Background()), rlock.ErrLost) {
		fmt.Println("unlock lost")
	}
}

// process is this very test binary, as a holder of the lock.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Scanner
}

// startHolder returns when the process holds the lock. It is killed with the test.
func (r *rig) startHolder(role string) *process {
	r.t.Helper()
	redistest.Require(r.t)
	self, err := os.Executable()
	require.NoError(r.t, err)
	cmd := exec.Command(self, "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+r.srv.Addr()+" "+r.key+" "+role)
	out, err := cmd.StdoutPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := &process{t: r.t, cmd: cmd, out: bufio.NewScanner(out)}
	require.Equal(r.t, "held", p.line())
	return p
}

// line is the next one that the process says.
func (p *process) line() string {
	p.t.Helper()
	require.True(p.t, p.out.Scan(), "the process ended: %v", p.out.Err())
	return p.out.Text()
}
