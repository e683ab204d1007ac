package pubsub_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// line is one connection, seen from the server.
type line struct {
	fake *fake
	conn net.Conn

	out  chan string   // what a socket's buffer would hold: the server never waits for the client to read
	over chan struct{} // closed when it is no more
	once sync.Once
	end  time.Duration // when that was

	mu       sync.Mutex // guards the rest
	requests []arrival
	muted    bool // requests are read and nothing is answered
	stalled  bool // nothing is read any more
	channels map[string]bool
}

// arrival is a request that the server has read.
type arrival struct {
	words []string
	at    time.Duration
}

func (l *line) serve() {
	defer l.leave()
	requests := make(chan []string, 1<<16) // the other buffer
	go l.read(requests)
	for words := range requests {
		if l.silent() {
			continue
		}
		select {
		case <-time.After(l.fake.delay(words)):
		case <-l.over:
			return
		}
		if l.answer(words) != nil {
			return
		}
	}
}

func (l *line) read(requests chan<- []string) {
	defer close(requests)
	in := bufio.NewReader(l.conn)
	for {
		words, err := readCommand(in)
		if err != nil {
			return
		}
		l.note(words)
		requests <- words
	}
}

func (l *line) answer(words []string) error {
	if reply := l.fake.refusal(words); reply != "" {
		return l.write("-" + reply + "\r\n")
	}
	switch verb := strings.ToLower(words[0]); verb {
	case "hello":
		return l.write("*2\r\n$5\r\nproto\r\n:2\r\n")
	case "subscribe", "unsubscribe":
		return l.confirm(verb, words[1:])
	case "ping":
		return l.write("*2\r\n$4\r\npong\r\n$0\r\n\r\n")
	default:
		return l.write("+OK\r\n")
	}
}

func (l *line) confirm(verb string, names []string) error {
	for _, name := range names {
		l.mu.Lock()
		if l.channels[name] = true; verb == "unsubscribe" {
			delete(l.channels, name)
		}
		n := len(l.channels)
		l.mu.Unlock()
		if err := l.write(fmt.Sprintf("*3\r\n%s%s:%d\r\n", bulk(verb), bulk(name), n)); err != nil {
			return err
		}
	}
	return nil
}

// mute makes the server read on and answer nothing; stall makes it stop reading
// as well.
func (l *line) mute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.muted = true
}

func (l *line) stall() {
	l.mute()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalled = true
	_ = l.conn.SetReadDeadline(time.Unix(1, 0))
}

// leave hangs up, unless the server is to seem frozen.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stalled {
		l.hangUp()
	}
}

func (l *line) hangUp() {
	l.once.Do(func() {
		l.end = l.fake.now()
		close(l.over)
		_ = l.conn.Close()
	})
}

// gone reports whether the connection is no more.
func (l *line) gone() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

func (l *line) flush() {
	for {
		select {
		case frame := <-l.out:
			if _, err := io.WriteString(l.conn, frame); err != nil {
				return
			}
		case <-l.over:
			return
		}
	}
}

func (l *line) silent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.muted
}

func (l *line) hears(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.channels[name] && !l.muted
}

func (l *line) write(frame string) error {
	if l.gone() {
		return io.ErrClosedPipe
	}
	l.out <- frame
	return nil
}

func (l *line) note(words []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, arrival{words, l.fake.now()})
}

// sent are the requests on this connection that begin with verb, without it.
func (l *line) sent(verb string) []string {
	var out []string
	for _, r := range l.received(verb) {
		out = append(out, strings.Join(r.words[1:], " "))
	}
	return out
}

// when tells at which instants what sent returns came.
func (l *line) when(verb string) []time.Duration {
	var out []time.Duration
	for _, r := range l.received(verb) {
		out = append(out, r.at)
	}
	return out
}

func (l *line) received(verb string) []arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []arrival
	for _, r := range l.requests {
		if strings.EqualFold(r.words[0], verb) {
			out = append(out, r)
		}
	}
	return out
}

func bulk(s string) string {
	return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s)
}

func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in)
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readLength(in)
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

func readLength(in *bufio.Reader) (int, error) {
	text, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(text[1:]))
}
