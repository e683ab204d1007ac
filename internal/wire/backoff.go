package wire

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// Backoff gives the pauses between attempts: doubling, capped, each shortened by up to a half at random, so that the many
// clients that one outage hit do not come back in step. The zero value is ready.
type Backoff struct{ next time.Duration }

// Next is the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	if b.next == 0 {
		b.next = firstPause
	}
	pause := b.next/2 + rand.N(b.next/2+1)
	b.next = min(2*b.next, lastPause)
	return pause
}

// Reset starts the series anew, after an attempt that was answered.
func (b *Backoff) Reset() { b.next = 0 }
