package lua

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Call is one run of one script: which script, on which key, with which arguments. It is immutable and may be sent any
// number of times, by several goroutines at once; what a further run does, each script's header says. The zero Call is of
// no use.
type Call struct {
	script *script
	words  [maxWords]any // the number of keys, the key, the arguments: what EVAL and EVALSHA have in common
	count  int           // how many of them there are
	fields []string      // and behind them these
}

const maxWords = 6 // of all calls, fields aside

// Text is a string. It is an any because that is how go-redis takes arguments, and each conversion is an allocation: who sends
// the same key again and again keeps it in this form.
type Text = any

func newCall(s *script, words ...any) Call {
	c := Call{script: s, count: 1 + len(words)}
	c.words[0] = 1 // key
	copy(c.words[1:], words)
	return c
}

// EvalSha is the command that runs the script by its digest: short, but the server answers NOSCRIPT when it does not know
// the script, and then nothing was done. Where the process may not use SHA-1 (GODEBUG=fips140=only) it is [Call.Eval].
// Each call gives a new command, not sent yet; ctx is the command's, as in go-redis.
func (c Call) EvalSha(ctx context.Context) *Cmd {
	if c.script.digest == nil {
		return c.Eval(ctx)
	}
	return c.command(ctx, "evalsha", c.script.digest)
}

// Eval is the command that carries the script's text; the server knows the script by its digest from then on. Each call
// gives a new command, not sent yet.
func (c Call) Eval(ctx context.Context) *Cmd {
	return c.command(ctx, "eval", c.script.text)
}

// Key is the key that the script works on: a cluster routes by it.
func (c Call) Key() string { return c.words[1].(string) } //nolint:forcetypeassert // the builders put it behind the number of keys

// Name is the operation, the name of the script's file without its ending.
func (c Call) Name() string { return c.script.name }

// keyPosition is where EVAL and EVALSHA have their first key. go-redis would find it out by itself, each time.
const keyPosition = 3

// command copies the words, because a hook of the caller's may write to a command's arguments (a prefix for keys) and the
// next attempt must not see that.
func (c Call) command(ctx context.Context, verb string, body any) *Cmd {
	sent := &struct {
		Cmd
		room [2 + maxWords]any // one allocation for both
	}{}
	args := append(sent.room[:0], verb, body)
	args = append(args, c.words[:c.count]...)
	for _, field := range c.fields {
		args = append(args, field)
	}
	sent.Cmd.Cmd = redis.NewCmd(ctx, args...)
	sent.SetFirstKeyPos(keyPosition)
	return &sent.Cmd
}

// Cmd is a script's command, for Process of a client or a pipeline.
type Cmd struct{ *redis.Cmd }

// NoRetry is true: go-redis must not send the command again by itself. After a failed transport it is unknown whether the
// script ran, and whoever waits for it has to learn that.
func (*Cmd) NoRetry() bool { return true }

// Clone is a copy that keeps NoRetry; the embedded command's Clone would lose it.
func (c *Cmd) Clone() redis.Cmder { return &Cmd{c.Cmd.Clone().(*redis.Cmd)} } //nolint:forcetypeassert // a copy of the same kind
