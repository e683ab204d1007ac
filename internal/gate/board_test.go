package gate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/gate"
)

// Those of one line see the same board, and a line that begins anew has an empty one.
func TestBoardIsTheLines(t *testing.T) {
	t.Parallel()
	g := gate.New()
	line := joinAll(g, "a", 2)
	other := g.Join("b")
	line[0].Board().Ask(5 * time.Second)
	assertWord(t, line[1].Board(), 5*time.Second, 0)
	assertWord(t, other.Board(), 0, 0)

	line[0].Leave()
	require.Nil(t, line[0].Board(), "it has left")
	assertWord(t, line[1].Board(), 5*time.Second, 0)
	line[1].Leave()
	assertWord(t, g.Join("a").Board(), 0, 0)
}

// An answer is owed since the oldest question that had none.
func TestBoardRemembersTheOldestQuestion(t *testing.T) {
	t.Parallel()
	var b gate.Board
	b.Ask(1 * time.Second)
	b.Ask(2 * time.Second)
	assertWord(t, &b, 1*time.Second, 0)
	b.Answer(3 * time.Second)
	assertWord(t, &b, 0, 3*time.Second)
	b.Ask(4 * time.Second)
	assertWord(t, &b, 4*time.Second, 3*time.Second)
}

func assertWord(t *testing.T, b *gate.Board, asked, answered time.Duration) {
	t.Helper()
	gotAsked, gotAnswered := b.Word()
	assert.Equal(t, asked, gotAsked, "asked")
	assert.Equal(t, answered, gotAnswered, "answered")
}

// Who is called off takes back its own question, and nobody else's.
func TestBoardForgetsAQuestionThatWasTakenBack(t *testing.T) {
	t.Parallel()
	var b gate.Board
	b.Ask(1 * time.Second)
	b.Unask(2 * time.Second)
	assertWord(t, &b, 1*time.Second, 0)
	b.Unask(1 * time.Second)
	assertWord(t, &b, 0, 0)
}

// Who leaves although it may have been woken leaves a look to the next one, until anybody has had an answer.
func TestBoardOwesALookUntilTheNextAnswer(t *testing.T) {
	t.Parallel()
	var b gate.Board
	require.False(t, b.Due())
	b.Owe()
	require.True(t, b.Due())
	b.Answer(1 * time.Second)
	require.False(t, b.Due())
}
