package redistest

import (
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
)

// process is one run of a redis-server, from launch to the moment it is reaped.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once reaped; failure is set before
	// failure says how the process ended: nil after exit status 0.
	failure error
	ordered atomic.Bool // somebody told it to end
}

// launch starts the command. Its output must go to files: copying it would take
// goroutines, which a leak check in the middle of a test would find.
func launch(cmd *exec.Cmd) (*process, error) {
	tieToParent(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run keeps its thread for as long as the process lives, because the kernel
// takes the end of the thread that started a child for the end of its parent.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.failure = p.cmd.Wait()
	close(p.done)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// crashed says that the process ended in failure and nobody had told it to end.
func (p *process) crashed() bool {
	return p.ended() && p.failure != nil && !p.ordered.Load()
}

// signal reports nothing about a process that has ended already: every caller
// then finds done closed.
func (p *process) signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }
