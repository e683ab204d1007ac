package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/internal/redistest"
)

// binary is the command, as a user would have it.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rlock")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "rlock")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the command: %v\n%s", err, out)
		_ = os.RemoveAll(dir)
		os.Exit(1)
	}
	redistest.Main(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// result is what a user sees of a run.
type result struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// rlock runs the command to its end, which has to come within a minute. watch is handed what is written to stdout.
func rlock(t *testing.T, watch func(cmd *exec.Cmd, soFar string), args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	stdout := &page{cmd: cmd, watch: watch}
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	begun := time.Now()
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "it does not end")
	return result{cmd.ProcessState.ExitCode(), stdout.text.String(), stderr.String(), time.Since(begun)}
}

// page collects what the command writes.
type page struct {
	cmd   *exec.Cmd
	watch func(cmd *exec.Cmd, soFar string)
	text  bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	n, err := p.text.Write(b)
	if p.watch != nil {
		p.watch(p.cmd, p.text.String())
	}
	return n, err
}
