package demo_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/cmd/rlock/internal/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The demo looks at Redis through eyes that see something else than the story says.
func TestADemoThatDoesNotGoAsToldFails(t *testing.T) {
	t.Parallel()
	mine := "shop-00000000-0000-0000-0000-000000000000:c1~1"
	for name, tt := range map[string]struct {
		sees eyes
		says string
	}{
		"other count":      {eyes{map[string]string{mine: "7"}, 20 * time.Second}, "the count is 7"},
		"other client":     {eyes{map[string]string{"thief-1:c1~1": "1"}, 20 * time.Second}, "somebody else's"},
		"two holders":      {eyes{map[string]string{mine: "1", "thief-1:c1~1": "1"}, 20 * time.Second}, "2 fields"},
		"no holder":        {eyes{nil, -2}, "0 fields"},
		"never ends":       {eyes{map[string]string{mine: "1"}, -1}, "time to live"},
		"lasts too long":   {eyes{map[string]string{mine: "1"}, time.Minute}, "time to live"},
		"still 1 in there": {eyes{map[string]string{mine: "1"}, time.Second}, "the count is 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := embedded(t)
			clean := redis.NewClient(rdb.Options())
			defer func() { assert.NoError(t, clean.Close()) }()
			rdb.AddHook(tt.sees)

			var page bytes.Buffer
			err := demo.On(t.Context(), &page, rdb)
			require.ErrorContains(t, err, "in story 1")
			assert.ErrorContains(t, err, tt.says)
			assert.NotContains(t, page.String(), "went as told")
			assert.Empty(t, clean.Keys(t.Context(), "*").Val(), "left behind")
		})
	}
}

func TestADemoThatIsCancelledEndsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorContains(t, demo.Embedded(ctx, io.Discard), "interrupted")
}

// eyes are a hook that sees this hash, whatever is there.
type eyes struct {
	fields map[string]string
	ttl    time.Duration
}

func (eyes) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (eyes) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (e eyes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			switch cmd := cmd.(type) {
			case *redis.MapStringStringCmd:
				cmd.SetVal(e.fields)
			case *redis.DurationCmd:
				cmd.SetVal(e.ttl)
			}
		}
		return err
	}
}

func embedded(t *testing.T) *redis.Client {
	t.Helper()
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}
