package main_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
)

func TestDemoTellsItsStories(t *testing.T) {
	t.Parallel()
	got := rlock(t, nil, "demo")
	require.Zero(t, got.code, got.stderr)
	assert.Empty(t, got.stderr)
	assert.Less(t, got.took, 15*time.Second)
	assertTold(t, got.stdout)
}

func TestDemoOnAServer(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	rdb := srv.Raw(t)
	require.NoError(t, rdb.Set(t.Context(), "order:42", "of the user", 0).Err())

	got := rlock(t, nil, "demo", "--redis", "redis://"+srv.Addr()+"/0")
	require.Zero(t, got.code, got.stderr)
	assert.Empty(t, got.stderr)
	assert.Contains(t, got.stdout, srv.Addr())
	assertTold(t, got.stdout)

	assert.Equal(t, []string{"order:42"}, rdb.Keys(t.Context(), "*").Val(), "the user's key alone is there")
	assert.Equal(t, "of the user", rdb.Get(t.Context(), "order:42").Val())
	assert.Empty(t, rdb.PubSubChannels(t.Context(), "*").Val())
}

// Two people may try it at once on one server.
func TestDemosDoNotMeet(t *testing.T) {
	t.Parallel()
	url := "redis://" + redistest.Shared(t).Addr()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { assert.Zero(t, rlock(t, nil, "demo", "--redis="+url).code) })
	}
	both.Wait()
}

func TestDemoFailsWhenItDoesNotGoAsTold(t *testing.T) {
	t.Parallel()
	// Without the right to publish nobody is woken.
	srv := redistest.Start(t, redistest.Config("user", "mute on >s3cret ~* &* +@all -publish"))
	got := rlock(t, nil, "demo", "--redis", "redis://mute:s3cret@"+srv.Addr())
	assertFailed(t, got, "in story 4")
	assert.Empty(t, srv.Raw(t).Keys(t.Context(), "*").Val())
}

func TestDemoThatIsInterruptedClearsUp(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	got := rlock(t, once("past the end", func(cmd *exec.Cmd) { assert.NoError(t, cmd.Process.Signal(os.Interrupt)) }),
		"demo", "--redis", "redis://"+srv.Addr())
	assertFailed(t, got, "interrupted")
	assert.Empty(t, srv.Raw(t).Keys(t.Context(), "*").Val())
}

func TestDemoOnAServerThatDies(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*redistest.Server){
		"killed": (*redistest.Server).Kill, "paused": (*redistest.Server).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			srv := redistest.Start(t)
			got := rlock(t, once("past the end", func(*exec.Cmd) { end(srv) }), "demo", "--redis", "redis://"+srv.Addr())
			assertFailed(t, got, "in story 5")
		})
	}
}

func TestDemoWithoutARedisBehindTheURL(t *testing.T) {
	t.Parallel()
	locked := miniredis.RunT(t)
	locked.RequireAuth("another")
	for name, tt := range map[string]struct{ url, says string }{
		"no scheme":      {"s3cret@127.0.0.1:6379", "redis://"},
		"other scheme":   {"http://:s3cret@127.0.0.1:6379", "redis://"},
		"odd password":   {"redis://:s3cret/@127.0.0.1:6379", "redis://"},
		"odd database":   {"redis://:s3cret@127.0.0.1:6379/s3cret", "redis://"},
		"odd option":     {"redis://:1?s3cret@127.0.0.1:6379", "redis://"},
		"dead port":      {"redis://:s3cret@" + deadPort(t), "refused"},
		"black hole":     {"redis://:s3cret@" + blackHole(t), "no answer"},
		"wrong password": {"redis://:s3cret@" + locked.Addr(), "WRONGPASS"},
		"no TLS":         {"rediss://:s3cret@" + locked.Addr(), locked.Addr()},
		"no socket":      {"unix://:s3cret@/nonexistent.sock", "/nonexistent.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rlock(t, nil, "demo", "--redis", tt.url)
			assertFailed(t, got, tt.says)
			assert.Empty(t, got.stdout)
			assert.Less(t, got.took, 5*time.Second)
		})
	}
}

// assertTold checks that the page tells the stories, with what Redis held.
func assertTold(t *testing.T, page string) {
	t.Helper()
	for _, pattern := range []string{
		`settle: order\.Do.* shop-....\.\.:c1~1 x1 +(?:2\d{4}|30000) ms\n` +
			`     in full:  HGETALL (rlock-demo:.{8}:order:42)  ->  shop-[0-9a-f-]{36}:c1~1  1\n` +
			`   refund: .* x2 .*\n   refund has returned.* x1 .*\n   settle has returned +\(no key: free\)\n`,
		`goroutine with hold\.Context\(\).* x2 `,
		`goroutine without the owner.* = false +shop-....\.\.:c2~1 x1 `,
		`goroutine A: lock\.Lock.* shop-....\.\.:1~1 x1 .*\n.* shop-....\.\.:1~1 x2 `,
		`Wait\(200ms\)\) = false after [2-9]\d\d ms`,
		`Lease\(5s\)\) = true +shop-\S+ x1 +\d{4} ms`,
		`worker is inside \d+\.\d ms later +worker-`,
		`redisson_lock__channel:\{rlock-demo:.{8}:report:9\}  ->  "0"`,
		`past the end of the first lease +shop-\S+ x1 +\d{3,4} ms`,
		`context\.Cause\(hold\.Context\(\)\):  lock lost: the server no longer knows this hold`,
		`leaves the rival alone +rival-\S+ x1 `,
		`All of it went as told, in \d+\.\d s, and nothing is left of it in Redis\.\n$`,
	} {
		assert.Regexp(t, pattern, page)
	}
	for line := range strings.Lines(page) {
		assert.LessOrEqual(t, len(line), 121, "too wide for a terminal: %s", line)
	}
}

// assertFailed: one clear line, no stack and no password.
func assertFailed(t *testing.T, got result, says string) {
	t.Helper()
	assert.Equal(t, 1, got.code)
	assert.Regexp(t, `^rlock demo: [^\n]*\n$`, got.stderr)
	assert.Contains(t, got.stderr, says)
	assert.NotContains(t, got.stdout+got.stderr, "s3cret")
	assert.NotContains(t, got.stdout, "went as told")
}

// once calls f when the text first shows on the page.
func once(text string, f func(*exec.Cmd)) func(*exec.Cmd, string) {
	var seen sync.Once
	return func(cmd *exec.Cmd, page string) {
		if strings.Contains(page, text) {
			seen.Do(func() { f(cmd) })
		}
	}
}

func deadPort(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// blackHole takes connections and says nothing.
func blackHole(t *testing.T) string {
	t.Helper()
	listener := listen(t) // the kernel accepts for it
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	return listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}
