package model_test

// The model's server is Redis with the real scripts on it, or the model says nothing of the lock. So both are given the same
// random states and commands.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/model"
	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/lua"
)

// tick is a tick of the model on a real clock: so long that no test takes a part of it worth naming.
const tick = time.Hour

func TestServer_IsMiniredisWithTheScripts(t *testing.T) {
	t.Parallel()
	playRandom(t, miniredis.RunT(t).Addr())
}

func TestServer_IsRedisWithTheScripts(t *testing.T) {
	t.Parallel()
	playRandom(t, redistest.Shared(t).Addr())
}

// serverRules are the clauses that are the scripts' to keep.
var serverRules = []model.Rule{
	model.WantCounts, model.NestedNeverTakesAnew, model.NeverShorten, model.InnerReleaseKeepsTTL, model.RenewOnlyItsField,
	model.HandOverSetsTTL, model.HandOverRepeats, model.HandOverRepeatRaises, model.TellSleepers, model.ForceFieldsSeen,
	model.ForceInTime,
}

// A script that did not keep a clause would be told from the model's server by as many random commands.
func TestServer_RandomCommandsMeetEveryClause(t *testing.T) {
	t.Parallel()
	for _, rule := range serverRules {
		random := rand.New(rand.NewPCG(1, 2))
		met := false
		for range 1500 {
			one := randomServer(random)
			other := one
			c := commands[random.IntN(len(commands))](random)
			reply, published := c.model(&one, model.AllRules)
			otherReply, otherPublished := c.model(&other, model.AllRules.Without(rule))
			met = met || one != other || reply != otherReply || published != otherPublished
		}
		assert.True(t, met, "%s (%v)", rule.Of(), rule)
	}
}

// playRandom lets random commands run on random states.
func playRandom(t *testing.T, addr string) {
	t.Helper()
	rounds := map[size]int{small: 800, middle: 3000, large: 100_000}[bound()]
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d rounds, seed %d", rounds, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := newPlay(t, addr)
	seen := map[string]int{}
	for range rounds {
		before := randomServer(random)
		command := commands[random.IntN(len(commands))](random)
		seen[command.kind(p, before)]++
		if t.Failed() {
			return
		}
	}
	t.Log(seen)
	assert.Len(t, seen, kinds, "every script gave each of its answers")
}

// kinds is how many pairs of a script and an answer there are.
const kinds = 3 + 3 + 2 + 2 + 2

// kind runs the command on both sides, compares all that it did, and says what the case was.
func (c command) kind(p *play, before model.Server) string {
	p.t.Helper()
	p.put(before)
	after := before
	want, wantPublished := c.model(&after, model.AllRules)
	reply, err := c.real(p)
	require.NoError(p.t, err, c.name)
	got, err := c.answer(reply)
	require.NoError(p.t, err, c.name)

	what := fmt.Sprintf("%s on %v, TTL %d", c.name, before.Levels, before.TTL)
	assert.Equal(p.t, want, got, what)
	assert.Equal(p.t, after, p.get(), what)
	assert.Equal(p.t, wantPublished, p.heard(), "published: %s", what)
	if want == model.Taken {
		assert.Equal(p.t, before.TTL, p.ttl(takenFor(p.t, reply)), what)
	}
	name, _, _ := strings.Cut(c.name, "(")
	return fmt.Sprintf("%s %d", name, want)
}

// play is the real side: one lock, and an ear on its channel.
type play struct {
	t       *testing.T
	ctx     context.Context
	rdb     *redis.Client
	sub     *redis.PubSub
	key     string
	channel string
}

func newPlay(t *testing.T, addr string) *play {
	t.Helper()
	p := &play{t: t, ctx: t.Context(), rdb: redis.NewClient(&redis.Options{Addr: addr}), key: t.Name()}
	p.channel = "redisson_lock__channel:{" + p.key + "}"
	t.Cleanup(func() { assert.NoError(t, p.rdb.Close()) })
	p.sub = p.rdb.Subscribe(p.ctx, p.channel)
	t.Cleanup(func() { assert.NoError(t, p.sub.Close()) })
	_, err := p.sub.Receive(p.ctx)
	require.NoError(t, err)
	return p
}

func (p *play) run(call lua.Call) (any, error) {
	cmd := call.Eval(p.ctx)
	err := p.rdb.Process(p.ctx, cmd)
	return cmd.Val(), err
}

// put makes Redis hold what the model's server does.
func (p *play) put(v model.Server) {
	p.t.Helper()
	_, err := p.rdb.TxPipelined(p.ctx, func(pipe redis.Pipeliner) error {
		pipe.Del(p.ctx, p.key)
		for f, levels := range v.Levels {
			if levels > 0 {
				pipe.HSet(p.ctx, p.key, fieldName(model.Field(f)), levels)
			}
		}
		if v.TTL != 0 && v.TTL != model.NoTTL {
			pipe.PExpire(p.ctx, p.key, ticks(v.TTL))
		}
		return nil
	})
	require.NoError(p.t, err)
}

// get is what Redis holds, as the model's server would.
func (p *play) get() (v model.Server) {
	p.t.Helper()
	all, err := p.rdb.HGetAll(p.ctx, p.key).Result()
	require.NoError(p.t, err)
	for name, count := range all {
		f, err := strconv.Atoi(name[len("app:c~"):])
		require.NoError(p.t, err)
		levels, err := strconv.Atoi(count)
		require.NoError(p.t, err)
		v.Levels[f] = uint8(levels)
	}
	ttl, err := p.rdb.PTTL(p.ctx, p.key).Result()
	require.NoError(p.t, err)
	if len(all) > 0 {
		v.TTL = p.ttl(ttl)
	}
	return v
}

// ttl counts begun ticks: what was set a moment ago is whole.
func (p *play) ttl(d time.Duration) uint8 {
	if d < 0 {
		return model.NoTTL
	}
	return uint8((d + tick - 1) / tick)
}

// heard reports whether somebody has published since it was last asked. It publishes a message of its own, and nothing that
// comes after that can have been sent before.
func (p *play) heard() bool {
	p.t.Helper()
	require.NoError(p.t, p.rdb.Publish(p.ctx, p.channel, "the end").Err())
	for heard := false; ; heard = true {
		message, err := p.sub.ReceiveMessage(p.ctx)
		require.NoError(p.t, err)
		if message.Payload == "the end" {
			return heard
		}
		require.Equal(p.t, "0", message.Payload)
		require.False(p.t, heard, "once is enough")
	}
}
