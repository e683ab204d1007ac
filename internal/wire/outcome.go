package wire

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/lua"
)

// Outcome says what is proven about one attempt.
type Outcome int

const (
	// Unknown: the command may have run, or may still do so.
	Unknown Outcome = iota
	// Done: the script ran once, and Reply.Value is its answer.
	Done
	// Refused: the command did not run, or its script ended at its first write; nothing was changed.
	Refused
)

// Reply is what came of one attempt.
type Reply struct {
	Outcome Outcome
	Value   any   // the script's answer, when Done
	Err     error // why it is not Done
	// Retry: another attempt may fare better. It is true for every unknown outcome and for refusals that pass: a server
	// that is loading, busy, read-only or has no connection to spare.
	Retry bool
}

// ErrClosed is the refusal of a Wire that is closed.
var ErrClosed = errors.New("closed")

// errNoConnection is a time-out: all connections are busy with commands that are not answered.
var errNoConnection = fmt.Errorf("no connection to spare: %w", os.ErrDeadlineExceeded)

// NoAnswer is the error of a caller that waited for this long in vain. It is a time-out in the sense of net.Error.
func NoAnswer(after time.Duration) error {
	return fmt.Errorf("no answer from Redis within %v: %w", after.Round(time.Millisecond), os.ErrDeadlineExceeded)
}

// passing lists the error replies of a server that did not run the script now but may do so soon.
var passing = []string{
	"NOSCRIPT", "LOADING", "BUSY", "READONLY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK",
	"ERR max number of clients reached",
}

// closedReply is what comes of an attempt that is started when the Wire is closed.
var closedReply = Reply{Outcome: Refused, Err: ErrClosed}

func judge(cmd *lua.Cmd, err error) Reply {
	switch {
	case err == nil:
		return Reply{Outcome: Done, Value: cmd.Val()}
	case isErrorReply(err):
		return Reply{Outcome: Refused, Err: err, Retry: isPassing(err)}
	case errors.Is(err, redis.ErrClosed):
		return Reply{Outcome: Refused, Err: err}
	case isUnsent(err):
		return Reply{Outcome: Refused, Err: err, Retry: true}
	default:
		return Reply{Outcome: Unknown, Err: err, Retry: true}
	}
}

// isErrorReply: the server itself spoke. Each script is written so that only its first write can fail, so an error reply
// proves that nothing was changed.
func isErrorReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// isPassing also looks inside the text: before Redis 7 an error of a command within a script comes wrapped in the
// script's own error.
func isPassing(err error) bool {
	text := err.Error()
	for _, prefix := range passing {
		if strings.HasPrefix(text, prefix) || strings.Contains(text, " -"+prefix) {
			return true
		}
	}
	return false
}

// isUnsent: the command never got as far as a connection.
func isUnsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

func isNoScript(err error) bool {
	return err != nil && isErrorReply(err) && strings.HasPrefix(err.Error(), "NOSCRIPT")
}
