package rlock_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
	"github.com/rlock-go/rlock/rlock"
)

// Every Go block of the README is code that compiles and runs: a piece of an example.
func TestREADME_GoBlocksAreTakenFromTheExamples(t *testing.T) {
	examples := sources(t, "examples", ".go")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		assert.Contains(t, examples, block[1], "not in any example")
	}
}

func TestREADME_LinksResolve(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		if !strings.Contains(link[1], "://") {
			assert.FileExists(t, filepath.Join(filepath.FromSlash(link[1]), pick(link[1])))
		}
	}
}

// Every promise names the tests that show it, and they are there.
func TestREADME_NamedTestsExist(t *testing.T) {
	tests := sources(t, ".", "_test.go")
	names := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.Contains(t, tests, "func "+name[1]+"(")
	}
	for i := range 11 {
		assert.Regexp(t, `(?m)^\| P`+strconv.Itoa(i+1)+` \|.*\x60Test`, readme(t), "a promise without a test")
	}
}

// The line that the README gives to operators is enough for every verb, and no right in it is idle.
func TestREADME_TheACLLineIsEnoughAndNoMore(t *testing.T) {
	line := regexp.MustCompile(`(?m)^ACL SETUSER .*$`).FindString(readme(t))
	require.NotEmpty(t, line)
	words := strings.Fields(line)

	var allowed []string
	for _, word := range words {
		if strings.HasPrefix(word, "+") {
			allowed = append(allowed, word[1:])
		}
	}
	assert.ElementsMatch(t, append(scriptCommands(t), "eval", "evalsha", "subscribe", "unsubscribe", "ping"), allowed)

	srv := redistest.Start(t)
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	ctx := context.Background()
	require.NoError(t, srv.Raw(t).Do(ctx, args...).Err())
	everyVerb(t, srv.Addr(), words[2], "secret")
}

// everyVerb uses a lock in every way, as that user.
func everyVerb(t *testing.T, addr, user, password string) {
	t.Helper()
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: addr, Username: user, Password: password})
	defer func() { _ = rdb.Close() }()
	log := &lines{}
	client, err := rlock.New(rdb, rlock.WithLogger(log.logger()))
	require.NoError(t, err)
	lock := client.NewLock("order:42")
	require.NoError(t, lock.Lock(ctx))
	require.NoError(t, lock.Lock(ctx))
	woken := make(chan error, 1)
	go func() { woken <- lock.Do(context.Background(), func(context.Context) error { return nil }) }()
	_, err = lock.State(ctx)
	require.NoError(t, err)
	require.NoError(t, lock.Unlock(ctx))
	require.NoError(t, lock.Unlock(ctx))
	require.NoError(t, <-woken)
	hold, err := lock.Acquire(ctx, rlock.Lease(maxTestTime))
	require.NoError(t, err)
	require.NoError(t, hold.Extend(ctx, 2*maxTestTime))
	removed, err := lock.ForceUnlock(ctx)
	require.NoError(t, err)
	require.True(t, removed)
	require.ErrorIs(t, hold.Release(ctx), rlock.ErrLost)
	require.NoError(t, client.Close(ctx))
	assert.NotContains(t, log.text(), "subscri", "the waiter did not have to poll")
}

// scriptCommands lists the commands that the scripts call.
func scriptCommands(t *testing.T) []string {
	t.Helper()
	var commands []string
	for _, call := range regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`).FindAllStringSubmatch(sources(t, "lua", ".lua"), -1) {
		commands = append(commands, strings.ToLower(call[1]))
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// sources is the text of all files below root whose names end like that.
func sources(t *testing.T, root, suffix string) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	}))
	return all.String()
}

// pick names a file that shows that a linked folder is there.
func pick(link string) string {
	if info, err := os.Stat(link); err == nil && info.IsDir() {
		entries, _ := os.ReadDir(link)
		for _, e := range entries {
			if !e.IsDir() {
				return e.Name()
			}
		}
	}
	return ""
}

const maxTestTime = time.Minute

// lines is a log to look into.
type lines struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
