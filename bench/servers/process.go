package servers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server's process. Linux kills it when the benchmark dies, however that comes.
type process struct {
	cmd     *exec.Cmd
	logPath string
	done    chan struct{} // closed once it is reaped
}

// launch starts the command, whose output goes to a file in dir.
func launch(cmd *exec.Cmd, dir string) (*process, error) {
	log, err := os.Create(logPath(dir))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	p := &process{cmd: cmd, logPath: log.Name(), done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	return p, <-started
}

// run keeps its thread until the process ends, for that thread's end is what the kernel takes for the parent's.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait()
	}
	close(p.done)
}

// kill ends the process and waits until it is reaped.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // else it has ended
	<-p.done
}

// quit is kill for a server that has children of its own to end, and knows SIGQUIT as the order to do so at once.
func (p *process) quit() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		p.kill()
	}
}

// log is the end of what the process wrote.
func (p *process) log() string {
	text, err := os.ReadFile(p.logPath) //nolint:gosec // a directory of our own
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-1000):]))
}

// cpu adds up the process and its children, those that have ended too.
func (p *process) cpu() (time.Duration, error) {
	own, err := readStat(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	sum := max(own.self, onCPU(p.cmd.Process.Pid)) + own.reaped
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if stat, err := readStat(pid); err == nil && stat.parent == p.cmd.Process.Pid { // else it has ended
			sum += max(stat.self, onCPU(pid))
		}
	}
	return sum, nil
}

// clockTick is the unit of times in /proc/PID/stat, which Linux has fixed at a hundredth of a second.
const clockTick = 10 * time.Millisecond

// stat is what /proc tells of one process: whose child it is, and the time of itself and of its ended children, in whole
// clock ticks.
type stat struct {
	parent       int
	self, reaped time.Duration
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat: %q", pid, text)
	}
	var numbers []int64
	for _, field := range slices.Concat(fields[1:2], fields[11:15]) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		numbers = append(numbers, n)
	}
	return stat{
		parent: int(numbers[0]),
		self:   time.Duration(numbers[1]+numbers[2]) * clockTick,
		reaped: time.Duration(numbers[3]+numbers[4]) * clockTick,
	}, nil
}

// onCPU adds up the threads that exist to the nanosecond, where the kernel tells: hundreds of processes that used less than
// a tick each are more than nothing.
func onCPU(pid int) time.Duration {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	var sum time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of the kernel
		if err != nil {
			continue // it has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n)
	}
	return sum
}
