package redistest

import (
	"os/exec"
	"syscall"
)

// tieToParent has the kernel kill the server when the test binary ends, even
// when a time-out's panic or SIGKILL leaves no time for cleanups.
func tieToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
