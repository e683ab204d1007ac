package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// awaitAnswer returns when the server answers PING, or says why it never will.
// The offset is where this run's output starts in the log.
func (n *node) awaitAnswer(proc *process, offset int64) error {
	client := redis.NewClient(n.probeOptions())
	defer client.Close()
	deadline := time.After(patience)
	for !n.listens() || !answers(client, proc.pid()) {
		select {
		case <-proc.done:
			return n.explain(proc, offset)
		case <-deadline:
			return fmt.Errorf("no answer to PING within %v; its output:\n%s", patience, n.logFrom(offset))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

func (n *node) explain(proc *process, offset int64) error {
	output := n.logFrom(offset)
	switch {
	case strings.Contains(output, "Address already in use"):
		return fmt.Errorf("%w: %d", errPortTaken, n.port)
	case n.tls != nil && lacksTLS(output):
		return errNoTLS
	}
	return fmt.Errorf("redis-server ended at once (%v); its output:\n%s", proc.failure, output) //nolint:errorlint // nil after status 0
}

// lacksTLS knows both ways in which a server built without TLS says so: some do
// not know the directives, others cannot follow them.
func lacksTLS(output string) bool {
	return strings.Contains(output, ">>> 'tls-port") || strings.Contains(output, "Failed finding TLS support")
}

// listens keeps go-redis away from a server that does not listen yet: it would
// log the refusal and then wait a second before it looks again.
func (n *node) listens() bool {
	conn, err := net.DialTimeout("tcp", n.addr(), time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// answers asks for the process id besides: somebody else's server may sit on the
// port while ours is about to find that out.
func answers(client *redis.Client, pid int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		return forbidden(err)
	}
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return forbidden(err)
	}
	return strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", pid))
}

// forbidden recognises a server that is up and keeps its secrets: a test may
// have configured the default user away.
func forbidden(err error) bool {
	for _, prefix := range []string{"NOAUTH", "WRONGPASS", "NOPERM"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

// clientOptions are go-redis's defaults, plus what it takes to get in.
func (n *node) clientOptions() *redis.Options {
	return &redis.Options{Addr: n.addr(), Password: n.settings.password, TLSConfig: n.tls.Clone()}
}

func (n *node) probeOptions() *redis.Options {
	options := n.clientOptions()
	options.PoolSize, options.MaxRetries, options.DisableIdentity = 1, -1, true
	options.DialTimeout, options.DialerRetries = time.Second, 1
	return options
}
