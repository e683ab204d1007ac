package stress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/rlock"
)

// What a process that an attack starts is told.
const (
	roleEnv  = "RLOCK_STRESS_ROLE"
	addrEnv  = "RLOCK_STRESS_REDIS"
	nameEnv  = "RLOCK_STRESS_NAME"  // who it is
	leaseEnv = "RLOCK_STRESS_LEASE" // the watchdog's
)

const (
	handRole    = "hands the lock over"
	stoppedRole = "is stopped"
	killedRole  = "is killed"
)

// play is the main of such a process; the result is its exit status. It never outlives the one that started it.
func play(role string) int {
	lease, err := time.ParseDuration(os.Getenv(leaseEnv))
	if err != nil {
		return complain(err)
	}
	c, err := rlock.New(redis.NewClient(&redis.Options{Addr: os.Getenv(addrEnv)}), rlock.WithWatchdogTimeout(lease),
		rlock.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return complain(err)
	}
	orders := bufio.NewScanner(os.Stdin)
	switch role {
	case handRole:
		err = handOver(c, orders)
	case stoppedRole:
		err = beStopped(c, lease, orders)
	case killedRole:
		err = beKilled(c, orders)
	default:
		err = errors.New("no such role: " + role)
	}
	if err != nil {
		return complain(err)
	}
	return 0
}

func complain(err error) int {
	fmt.Println("error", err)
	return 1
}

// handOver takes the lock of the order and gives it back, over and over, and tells of each turn. The next order ends it.
func handOver(c *rlock.Client, orders *bufio.Scanner) error {
	orders.Scan()
	words := strings.Fields(orders.Text()) // the lock, the seed
	seed, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		return err
	}
	me, l, over := os.Getenv(nameEnv), c.NewLock(words[0]), make(chan struct{})
	d, values := plan{seed: seed}.dice(me), newRegister(os.Getenv(addrEnv))
	go func() { orders.Scan(); close(over) }()
	for i := 0; ; i++ {
		select {
		case <-over:
			return nil
		default:
		}
		u, err := oneHandOver(l, values, d, me+"-"+strconv.Itoa(i))
		if err != nil {
			return err
		}
		fmt.Println("turn", u)
		if err := letTheOther(l, values, u.wrote, d); err != nil {
			return err
		}
	}
}

// letTheOther waits until the other process has had the lock: to take it again at once would announce it again at once, and
// so make good for whatever the other one missed. It does not wait for ever, for the other one may have come to its end.
func letTheOther(l *rlock.Lock, values register, wrote string, d dice) error {
	for until := instant() + 2*time.Second; instant() < until; {
		now, err := values.read(l.Name())
		if err != nil || now != wrote {
			return err
		}
		time.Sleep(d.upTo(time.Millisecond))
	}
	return nil
}

// handTurn is a turn as one process tells it to the other.
type handTurn struct {
	asked, from, to time.Duration
	read, wrote     string
}

func (u handTurn) String() string {
	return fmt.Sprintf("%d %d %d %q %q", u.asked, u.from, u.to, u.read, u.wrote)
}

func scanTurn(line string) (u handTurn, err error) {
	_, err = fmt.Sscanf(line, "turn %d %d %d %q %q", &u.asked, &u.from, &u.to, &u.read, &u.wrote)
	return u, err
}

func oneHandOver(l *rlock.Lock, values register, d dice, value string) (handTurn, error) {
	u := handTurn{asked: instant(), wrote: value}
	ctx := someone()
	if err := l.Lock(ctx); err != nil {
		return u, err
	}
	u.from = instant()
	read, err := values.read(l.Name())
	if err != nil {
		return u, err
	}
	u.read = read
	time.Sleep(d.upTo(time.Millisecond))
	if err := values.write(l.Name(), u.wrote); err != nil {
		return u, err
	}
	time.Sleep(d.between(2*time.Millisecond, 5*time.Millisecond)) // the other one has seen that and waits by now
	u.to = instant()
	return u, l.Unlock(ctx)
}

// beStopped takes the lock of each order and then looks at nothing but the clock. When that has jumped the process was
// stopped; the first thing it does then is to ask its hold.
func beStopped(c *rlock.Client, lease time.Duration, orders *bufio.Scanner) error {
	runtime.GOMAXPROCS(1) // nothing else runs between the jump and the first look
	for orders.Scan() {
		h, err := c.NewLock(orders.Text()).Acquire(someone())
		if err != nil {
			return err
		}
		told, now := h.Context(), instant()
		fmt.Println("held")
		for before := now; now-before < lease/2; {
			before, now = now, instant()
		}
		held := h.Held()
		<-told.Done()
		after := instant() - now
		lost := errors.Is(context.Cause(told), rlock.ErrLost)
		err = h.Release(context.Background())
		fmt.Println("resumed", int64(now), held, int64(after), lost && errors.Is(err, rlock.ErrLost))
	}
	return nil
}

// beKilled holds the lock of the order for ever.
func beKilled(c *rlock.Client, orders *bufio.Scanner) error {
	orders.Scan()
	if err := c.NewLock(orders.Text()).Lock(context.Background()); err != nil {
		return err
	}
	fmt.Println("held")
	orders.Scan()
	return nil
}

// child is such a process, seen by the attack.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	gone bool
}

// start starts a process. It is killed with the test, and a group of its own has the kernel wake it, if it is stopped, to its
// end when the test binary dies.
func (s *stage) start(role, name string, lease time.Duration) *child {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	cmd := exec.Command(self)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), roleEnv+"="+role, addrEnv+"="+s.srv.Addr(), nameEnv+"="+name, leaseEnv+"="+lease.String())
	cmd.Stderr = os.Stderr
	c := &child{t: s.t, cmd: cmd}
	c.in, err = cmd.StdinPipe()
	require.NoError(s.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	c.out = bufio.NewScanner(out)
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(c.kill)
	return c
}

// order tells the process what to do.
func (c *child) order(text string) error {
	_, err := fmt.Fprintln(c.in, text)
	return err
}

// line is the next one that the process says.
func (c *child) line() (string, error) {
	if !c.out.Scan() {
		return "", errors.Join(errors.New("the process ended"), c.out.Err())
	}
	if text, failed := strings.CutPrefix(c.out.Text(), "error "); failed {
		return "", errors.New("the process failed: " + text)
	}
	return c.out.Text(), nil
}

// held sends an order and waits until the process holds the lock.
func (c *child) held(lock string) error {
	if err := c.order(lock); err != nil {
		return err
	}
	line, err := c.line()
	if err == nil && line != "held" {
		err = errors.New("the process says " + line)
	}
	return err
}

// kill ends the process, with SIGKILL, and returns when it is gone.
func (c *child) kill() {
	if c.gone {
		return
	}
	c.gone = true
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}
