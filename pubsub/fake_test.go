package pubsub_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// timeOut is how long go-redis waits until a greeting is written, and again until it is answered.
const timeOut = 5 * time.Second

// fake is as much of a Redis server as a subscriber sees, in RESP2, reached
// over pipes, so that it runs in a synctest bubble, and as awkward as a test
// wants it to be.
type fake struct {
	began time.Time // instants are told as what has passed since then

	mu      sync.Mutex // guards the rest
	dialled []time.Duration
	lines   []*line
	refuse  func(words []string) string        // the error to answer with, "" for none
	latency func(words []string) time.Duration // before the answer to a request
	down    bool                               // dialling fails
	hanging bool                               // dialling takes for ever
	deaf    bool                               // new connections are not read from
}

func (f *fake) client() *redis.Client {
	f.began = time.Now()
	return redis.NewClient(&redis.Options{
		Addr:   "127.0.0.1:1", // an address, since go-redis would look a name up outside of the bubble
		Dialer: f.dial, MaxRetries: -1, Protocol: 2,
		ReadTimeout: timeOut, WriteTimeout: timeOut,
		DialTimeout: time.Hour, // so that it is never go-redis that gives up a dial that hangs
	})
}

func (f *fake) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dialled = append(f.dialled, f.now())
	if f.hanging {
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return nil, ctx.Err()
	}
	if f.down {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	l := &line{fake: f, conn: far, channels: make(map[string]bool)}
	l.out, l.over = make(chan string, 1<<16), make(chan struct{})
	f.lines = append(f.lines, l)
	if !f.deaf {
		go l.serve()
		go l.flush()
	}
	return near, nil
}

// publish sends a message to all who listen.
func (f *fake) publish(name string) {
	for _, l := range f.all() {
		if l.hears(name) {
			_ = l.write("*3\r\n" + bulk("message") + bulk(name) + bulk("0"))
		}
	}
}

// cut ends all connections.
func (f *fake) cut() {
	for _, l := range f.all() {
		l.hangUp()
	}
}

func (f *fake) now() time.Duration {
	return time.Since(f.began)
}

// dials tells when a connection was asked for.
func (f *fake) dials() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Duration(nil), f.dialled...)
}

func (f *fake) all() []*line {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*line(nil), f.lines...)
}

func (f *fake) last() *line {
	all := f.all()
	return all[len(all)-1]
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// sent is what line.sent is, for all connections in turn.
func (f *fake) sent(verb string) []string {
	var out []string
	for _, l := range f.all() {
		out = append(out, l.sent(verb)...)
	}
	return out
}

// when tells at which instants what sent returns came.
func (f *fake) when(verb string) []time.Duration {
	var out []time.Duration
	for _, l := range f.all() {
		out = append(out, l.when(verb)...)
	}
	return out
}

func (f *fake) refusal(words []string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse == nil {
		return ""
	}
	return f.refuse(words)
}

func (f *fake) delay(words []string) time.Duration {
	f.mu.Lock()
	latency := f.latency
	f.mu.Unlock()
	if latency == nil {
		return 0
	}
	return latency(words)
}
