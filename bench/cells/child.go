package cells

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Child is the parent's side of one process of a cell.
type Child struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	messages chan message // closed when the process says no more
	errors   tail
	end      sync.Once
}

// Start starts the process: argv, then the words of the spec. It ends with ctx, and by itself when this process dies,
// because it then reads the end of its input.
func Start(ctx context.Context, argv []string, spec Spec) (*Child, error) {
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:len(argv):len(argv)], spec.Args()...)...) //nolint:gosec // ours
	c := &Child{cmd: cmd, messages: make(chan message, 2)}
	cmd.Stderr = &c.errors
	cmd.WaitDelay = time.Second
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go c.listen(out)
	return c, nil
}

// listen passes on what the process says. A line that is no message, of a chatty library, goes with the errors.
func (c *Child) listen(out io.Reader) {
	defer close(c.messages)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.Event == "" {
			_, _ = c.errors.Write(append(bytes.Clone(lines.Bytes()), '\n'))
			continue
		}
		c.messages <- m
	}
}

// AwaitReady returns when the process is warm.
func (c *Child) AwaitReady(patience time.Duration) error {
	_, err := c.await(ready, patience)
	return err
}

// Go lets the measured part begin.
func (c *Child) Go() error {
	_, err := io.WriteString(c.in, begin+"\n")
	return err
}

// AwaitResult returns what the process measured.
func (c *Child) AwaitResult(patience time.Duration) (Result, error) {
	m, err := c.await(done, patience)
	return m.Result, err
}

func (c *Child) await(event string, patience time.Duration) (message, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m, ok := <-c.messages:
		switch {
		case !ok:
			return m, fmt.Errorf("the process ended before %q: %s", event, c.errors.String())
		case m.Event == failed:
			return m, errors.New(m.Error)
		case m.Event != event:
			return m, fmt.Errorf("the process said %q instead of %q", m.Event, event)
		}
		return m, nil
	case <-timer.C:
		return message{}, fmt.Errorf("no %q within %v: %s", event, patience, c.errors.String())
	}
}

// End ends the process and waits for it: what it holds ends with it.
func (c *Child) End() {
	c.end.Do(func() {
		_ = c.in.Close()
		_ = c.cmd.Process.Kill() // libraries that wait for their holds would wait for a lease
		for range c.messages {   // until its output has ended, before Wait closes it
		}
		_ = c.cmd.Wait()
	})
}

// tail keeps the end of what was written to it.
type tail struct {
	mu   sync.Mutex // guards text
	text []byte
}

const tailLength = 2000

// Write keeps the last bytes.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > tailLength {
		t.text = t.text[len(t.text)-tailLength:]
	}
	return len(p), nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.text)); text != "" {
		return text
	}
	return "it said nothing"
}
