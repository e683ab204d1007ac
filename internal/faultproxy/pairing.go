package faultproxy

import (
	"slices"
	"strings"
	"time"
)

// exchange is one request on its way, and what is to happen to it.
type exchange struct {
	raw   []byte
	words []string // none: the server will not answer
	plan  plan
	due   time.Time // not forwarded before; zero: at once
	// confirmations counts down what a command of pub/sub still waits for; 0 before
	// its first confirmation.
	confirmations int
}

// pairing finds the request that a reply belongs to: the oldest that has none
// yet. Pub/sub breaks that rule twice. Messages answer nothing, and one command
// is answered once per channel, in RESP3 even by pushes.
type pairing struct {
	pending  []*exchange
	resp3    bool
	channels map[string][]string // by kind: "", "p" or "s"
}

// pair returns the request that the frame answers, if any, and whether that was
// the last frame for it.
func (p *pairing) pair(f frame) (x *exchange, last bool) {
	if kind, verb := p.subscription(f); verb != "" {
		return p.confirm(kind, verb, f)
	}
	if p.unasked(f) || len(p.pending) == 0 {
		return nil, false
	}
	x = p.pending[0]
	p.pending = p.pending[1:]
	if isCommand(x, "hello") && !f.failed() && len(x.words) > 1 {
		p.resp3 = x.words[1] == "3"
	}
	return x, true
}

// subscription recognises the confirmation of a (un)subscribe: verb is which
// one, kind its channels' kind. In RESP2 an array is one only where the
// connection is about pub/sub; a list of values may look the same.
func (p *pairing) subscription(f frame) (kind, verb string) {
	if len(f.words) < 2 || !p.aboutPubSub(f) {
		return "", ""
	}
	if kind, isVerb := kindOf(f.words[0]); isVerb {
		return kind, f.words[0]
	}
	return "", ""
}

func (p *pairing) aboutPubSub(f frame) bool {
	switch f.kind {
	case '>':
		return true
	case '*':
		return !p.resp3 && (p.subscribed() || p.headIsPubSub())
	}
	return false
}

func (p *pairing) subscribed() bool {
	return len(p.channels[""])+len(p.channels["p"])+len(p.channels["s"]) > 0
}

func (p *pairing) headIsPubSub() bool {
	if len(p.pending) == 0 {
		return false
	}
	_, isVerb := kindOf(strings.ToLower(p.pending[0].words[0]))
	return isVerb
}

// unasked recognises messages, and the pushes that RESP3 has besides.
func (p *pairing) unasked(f frame) bool {
	if f.kind == '>' {
		return true
	}
	messages := []string{"message", "pmessage", "smessage"}
	return p.aboutPubSub(f) && len(f.words) > 0 && slices.Contains(messages, f.words[0])
}

func (p *pairing) confirm(kind, verb string, f frame) (x *exchange, last bool) {
	had := len(p.channels[kind])
	p.keep(kind, verb, f.words[1])
	if len(p.pending) == 0 {
		return nil, false
	}
	x = p.pending[0]
	channels := x.words[1:]
	if !isCommand(x, verb) || len(channels) > 0 && !slices.Contains(channels, f.words[1]) {
		return nil, false // the server's own doing: a slot moved away
	}
	if x.confirmations == 0 {
		x.confirmations = max(1, len(channels))
		if len(channels) == 0 {
			x.confirmations = max(1, had) // from all of them
		}
	}
	if x.confirmations--; x.confirmations > 0 {
		return x, false
	}
	p.pending = p.pending[1:]
	return x, true
}

func (p *pairing) keep(kind, verb, channel string) {
	if p.channels == nil {
		p.channels = make(map[string][]string)
	}
	p.channels[kind] = slices.DeleteFunc(p.channels[kind], func(c string) bool { return c == channel })
	if strings.HasSuffix(verb, "unsubscribe") {
		return
	}
	p.channels[kind] = append(p.channels[kind], channel)
}

// kindOf splits "psubscribe" and the like into kind and whether it is one.
func kindOf(verb string) (kind string, isVerb bool) {
	switch verb {
	case "subscribe", "unsubscribe":
		return "", true
	case "psubscribe", "punsubscribe":
		return "p", true
	case "ssubscribe", "sunsubscribe":
		return "s", true
	}
	return "", false
}

func isCommand(x *exchange, name string) bool { return strings.EqualFold(x.words[0], name) }
