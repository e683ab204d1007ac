package faultproxy

import (
	"sync"
	"time"
)

// faults holds what is to happen to the requests to come.
type faults struct {
	mu    sync.Mutex // guards rules; the matches run under it
	rules map[fault][]*rule
}

// fault is a kind of mishap. Kinds combine: a request may be held and then lose
// its reply.
type fault int

const (
	delayReply fault = iota
	dropReply
	cutAfterWrite
	holdRequest
	repeatRequest
	refuseRequest
)

// rule is one call of the methods below.
type rule struct {
	match Match
	left  int // requests to come; negative: no end
	delay time.Duration
	text  string
}

// plan is what the rules add up to for one request.
type plan map[fault]*rule

func (p plan) has(kind fault) bool { return p[kind] != nil }

// delay is the time that goes with the kind, 0 if the plan does not have it.
func (p plan) delay(kind fault) time.Duration {
	if !p.has(kind) {
		return 0
	}
	return p[kind].delay
}

// DelayReplies lets the replies to requests that match any of these wait for d
// in the proxy; without a match all replies wait, pushes and pub/sub messages
// too. For a request that several calls are about the latest call counts, so
// DelayReplies(0) ends it.
func (p *Proxy) DelayReplies(d time.Duration, match ...Match) {
	m := Or(match...)
	if len(match) == 0 {
		m = nil
	}
	p.faults.add(delayReply, rule{match: m, left: Every, delay: d})
}

// DropReply forwards the next n matching requests and swallows their replies,
// and with them all that the server says on such a connection from there on:
// what is lost on a TCP connection keeps back everything behind it. The
// connection stays open.
func (p *Proxy) DropReply(n int, m Match) {
	p.faults.add(dropReply, rule{match: m, left: n})
}

// CutAfterWrite forwards the next n matching requests, waits for the reply, so
// that the effect is certain, and resets the client's connection instead of
// passing the reply on.
func (p *Proxy) CutAfterWrite(n int, m Match) {
	p.faults.add(cutAfterWrite, rule{match: m, left: n})
}

// HoldRequest keeps the next n matching requests for d and then delivers them,
// even if the client hung up, or was cut off, in the meantime. A client that is
// still there gets the reply.
func (p *Proxy) HoldRequest(d time.Duration, n int, m Match) {
	p.faults.add(holdRequest, rule{match: m, left: n, delay: d})
}

// RepeatRequest forwards the next n matching requests as usual, and d after the
// reply sends each once more on a connection of the proxy's own, logged in like
// the client's. That reply is thrown away.
func (p *Proxy) RepeatRequest(d time.Duration, n int, m Match) {
	p.faults.add(repeatRequest, rule{match: m, left: n, delay: d})
}

// RefuseRequest answers the next n matching requests with this error, for
// instance "-LOADING Redis is loading", in the server's stead, who never sees
// them; neither do [Proxy.Seen] and [Proxy.Wait].
func (p *Proxy) RefuseRequest(reply string, n int, m Match) {
	p.faults.add(refuseRequest, rule{match: m, left: n, text: errorLine(reply)})
}

func (f *faults) add(kind fault, r rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rules == nil {
		f.rules = make(map[fault][]*rule)
	}
	if kind == delayReply { // the latest counts
		f.rules[kind] = append([]*rule{&r}, f.rules[kind]...)
		return
	}
	f.rules[kind] = append(f.rules[kind], &r)
}

// plan decides what happens to a request, and counts it.
func (f *faults) plan(words []string) plan {
	f.mu.Lock()
	defer f.mu.Unlock()
	var p plan
	for kind, rules := range f.rules {
		for _, r := range rules {
			if r.left == 0 || !r.match.matches(words) {
				continue
			}
			if r.left > 0 {
				r.left--
			}
			if p == nil {
				p = make(plan)
			}
			p[kind] = r
			break
		}
	}
	return p
}

// pushDelay is how long what answers no request waits.
func (f *faults) pushDelay() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules[delayReply] {
		if r.match == nil {
			return r.delay
		}
	}
	return 0
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}
