package peers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rlock-go/rlock/lua"
)

// BareScripts is the name of the peer that is rlock without its engine.
const BareScripts = "bare scripts"

// scriptsPeer is the measure of what the engine adds and what it saves: its scripts without it.
var scriptsPeer = Peer{
	Name:     BareScripts,
	Package:  "github.com/rlock-go/rlock",
	Settings: "rlock's own scripts, one round trip each, without the engine and so without waiting; " + goRedisSettings,
	Store:    Redis,
	Commands: rlockPeer.Commands,
	Open:     openScripts,
}

type scriptsClient struct {
	goRedis
	lease  time.Duration
	fields *atomic.Int64
}

func openScripts(c Config) (Client, error) {
	if c.Contended {
		return nil, errors.New("the bare scripts cannot wait")
	}
	return scriptsClient{newGoRedis(c), c.Lease, new(atomic.Int64)}, nil
}

// Handle needs no I/O.
func (c scriptsClient) Handle(name string) (Handle, error) {
	return &scriptsHandle{client: c, name: "{" + name + "}", channel: "redisson_lock__channel:{" + name + "}"}, nil
}

type scriptsHandle struct {
	client        scriptsClient
	name, channel string
	field         string
}

// Lock fails if the lock is taken.
func (h *scriptsHandle) Lock(ctx context.Context) error {
	h.field = "bench:c1~" + strconv.FormatInt(h.client.fields.Add(1), 10)
	reply, err := h.run(ctx, lua.Acquire(h.name, h.field, 1, h.client.lease, lua.Orphans{}))
	if err != nil {
		return err
	}
	got, err := lua.DecodeAcquire(reply)
	if err == nil && got.Outcome != lua.Granted {
		err = fmt.Errorf("not granted: %+v", got)
	}
	return err
}

// Unlock frees the lock.
func (h *scriptsHandle) Unlock(ctx context.Context) error {
	reply, err := h.run(ctx, lua.Release(h.name, h.channel, h.field, 0, 0))
	if err != nil {
		return err
	}
	got, err := lua.DecodeRelease(reply)
	if err == nil && got != lua.Freed {
		err = fmt.Errorf("not freed: %v", got)
	}
	return err
}

// run sends the digest, and the text when the server does not know the script yet.
func (h *scriptsHandle) run(ctx context.Context, call lua.Call) (any, error) {
	cmd := call.EvalSha(ctx)
	err := h.client.rdb.Process(ctx, cmd)
	if err != nil && len(err.Error()) > 8 && err.Error()[:8] == "NOSCRIPT" {
		cmd = call.Eval(ctx)
		err = h.client.rdb.Process(ctx, cmd)
	}
	return cmd.Val(), err
}
