package gate

import (
	"sync/atomic"
	"time"
)

// Board is where those of a line who ask leave word for those who do not: since when an answer is owed, and when the newest
// one came. Instants are those of the user's clock. The zero value is ready, and may serve somebody who stands in no line.
type Board struct {
	asked, answered atomic.Int64
	due             atomic.Bool
}

// Ask notes that something was asked at that instant. If an answer is owed already, it is owed since then.
func (b *Board) Ask(at time.Duration) { b.asked.CompareAndSwap(0, int64(at)) }

// Unask takes back what was asked at that instant, by one who waits for the answer no more.
func (b *Board) Unask(at time.Duration) { b.asked.CompareAndSwap(int64(at), 0) }

// Answer notes that an answer came at that instant.
func (b *Board) Answer(at time.Duration) {
	b.due.Store(false)
	b.answered.Store(int64(at))
	b.asked.Store(0)
}

// Owe notes that whoever is next has to ask: one that leaves may have been woken, and did not.
func (b *Board) Owe() { b.due.Store(true) }

// Due reports whether that is so.
func (b *Board) Due() bool { return b.due.Load() }

// Word is since when an answer is owed and when the newest one came, 0 for never.
func (b *Board) Word() (asked, answered time.Duration) {
	return time.Duration(b.asked.Load()), time.Duration(b.answered.Load())
}
