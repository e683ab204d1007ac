package cells_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/cells"
)

// TestMain lets this binary be the child of its own tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "cell" {
		play(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

func play(words []string) {
	spec, err := cells.ParseSpec(words)
	if err != nil {
		panic(err)
	}
	work := func(s *cells.Stage) (cells.Result, error) {
		switch spec.Work {
		case "fails":
			return cells.Result{}, errors.New("the lock did not lock")
		case "dies":
			println("out of memory") // to stderr
			os.Exit(3)
		case "sleeps":
			time.Sleep(time.Hour)
		}
		fmt.Println("a library that chats")
		if err := s.Ready(); err != nil {
			return cells.Result{}, err
		}
		time.Sleep(2 * spec.Duration)
		return s.Stop(cells.Result{Ops: 42, Shares: []int64{42}}), nil
	}
	if err := cells.Play(spec, work, os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
}

func start(t *testing.T, work string) *cells.Child {
	t.Helper()
	child, err := cells.Start(t.Context(), []string{os.Args[0], "cell"}, cells.Spec{Work: work, Duration: 50 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(child.End)
	return child
}

const patience = 20 * time.Second

func TestCellIsPlayed(t *testing.T) {
	child := start(t, "works")
	require.NoError(t, child.AwaitReady(patience))
	require.NoError(t, child.Go())
	result, err := child.AwaitResult(patience)
	require.NoError(t, err)
	assert.EqualValues(t, 42, result.Ops)
	assert.GreaterOrEqual(t, result.Seconds, 0.05)
	assert.Positive(t, result.CPU)
}

func TestCellTellsItsFailure(t *testing.T) {
	assert.ErrorContains(t, start(t, "fails").AwaitReady(patience), "the lock did not lock")
	assert.ErrorContains(t, start(t, "dies").AwaitReady(patience), "out of memory")
	assert.ErrorContains(t, start(t, "sleeps").AwaitReady(100*time.Millisecond), "no \"ready\" within 100ms")
}

func TestPlayEndsWithItsParent(t *testing.T) {
	in, parent := io.Pipe()
	require.NoError(t, parent.Close())
	work := func(s *cells.Stage) (cells.Result, error) { return cells.Result{}, s.Ready() }
	ended := make(chan error, 1)
	go func() { ended <- cells.Play(cells.Spec{}, work, in, io.Discard) }()
	select {
	case err := <-ended:
		require.NoError(t, err) // the parent was told of the failure, as far as it could be
	case <-time.After(patience):
		t.Fatal("a process whose parent is gone goes on")
	}
}
