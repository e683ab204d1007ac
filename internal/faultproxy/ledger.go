package faultproxy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// longestWord is how much of a word is kept: tests count requests by their heads,
// and must not drown in large values.
const longestWord = 1024

// ledger counts the requests by how far they have come. Requests that look the
// same share an entry.
type ledger struct {
	mu      sync.Mutex // guards what follows; the matches run under it
	entries map[string]*entry
	watches map[*watch]struct{}
}

type entry struct {
	words []string
	count [stages]int
}

// stage is how far a request has come.
type stage int

const (
	received stage = iota
	forwarded
	answered
	stages
)

// watch is a call of Wait.
type watch struct {
	match   Match
	stage   stage
	missing int
	done    chan struct{} // closed when nothing is missing any more
}

func (l *ledger) start() {
	l.entries = make(map[string]*entry)
	l.watches = make(map[*watch]struct{})
}

// Received returns how many matching requests have reached the proxy so far,
// whatever it did with them: held, refused and black-holed ones too.
func (p *Proxy) Received(m Match) int { return p.ledger.total(received, m) }

// Seen returns how many matching requests were forwarded so far, late deliveries
// and repetitions included. A request counts just before its bytes go out.
func (p *Proxy) Seen(m Match) int { return p.ledger.total(forwarded, m) }

// Answered returns how many matching requests the server has answered so far,
// whatever became of the reply: their effect is there.
func (p *Proxy) Answered(m Match) int { return p.ledger.total(answered, m) }

// WaitReceived blocks like [Proxy.Wait] until [Proxy.Received] is n or more.
func (p *Proxy) WaitReceived(ctx context.Context, m Match, n int) error {
	return p.ledger.wait(ctx, received, m, n)
}

// Wait blocks until [Proxy.Seen] is n or more, or ctx is over: then the error
// wraps the cause and says how many there were.
func (p *Proxy) Wait(ctx context.Context, m Match, n int) error {
	return p.ledger.wait(ctx, forwarded, m, n)
}

// WaitAnswered blocks like [Proxy.Wait] until [Proxy.Answered] is n or more.
func (p *Proxy) WaitAnswered(ctx context.Context, m Match, n int) error {
	return p.ledger.wait(ctx, answered, m, n)
}

func (l *ledger) total(s stage, m Match) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.totalLocked(s, m)
}

func (l *ledger) totalLocked(s stage, m Match) int {
	sum := 0
	for _, e := range l.entries {
		if m.matches(e.words) {
			sum += e.count[s]
		}
	}
	return sum
}

func (l *ledger) wait(ctx context.Context, s stage, m Match, n int) error {
	l.mu.Lock()
	w := &watch{match: m, stage: s, missing: n - l.totalLocked(s, m), done: make(chan struct{})}
	if w.missing <= 0 {
		l.mu.Unlock()
		return nil
	}
	l.watches[w] = struct{}{}
	l.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return l.giveUp(ctx, w, n)
	}
}

func (l *ledger) giveUp(ctx context.Context, w *watch, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.missing <= 0 {
		return nil // the last one came together with the end
	}
	delete(l.watches, w)
	return fmt.Errorf("faultproxy: waited for %d requests, %d came: %w", n, n-w.missing, context.Cause(ctx))
}

// record says that a request has come to this stage.
func (l *ledger) record(s stage, words []string) {
	words = shortened(words)
	name := strings.Join(words, "\x00")
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[name]
	if e == nil {
		e = &entry{words: words}
		l.entries[name] = e
	}
	e.count[s]++
	l.notifyLocked(s, words)
}

func (l *ledger) notifyLocked(s stage, words []string) {
	for w := range l.watches {
		if w.stage != s || !w.match.matches(words) {
			continue
		}
		if w.missing--; w.missing == 0 {
			close(w.done)
			delete(l.watches, w)
		}
	}
}

// shortened copies only if it must. The copy of a long word lets go of the rest.
func shortened(words []string) []string {
	var short []string
	for i, word := range words {
		if len(word) <= longestWord {
			continue
		}
		if short == nil {
			short = slices.Clone(words)
		}
		short[i] = strings.Clone(word[:longestWord])
	}
	if short == nil {
		return words
	}
	return short
}
