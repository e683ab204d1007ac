package faultproxy

import (
	"bufio"
	"errors"
	"net"
	"time"
)

// readRequests plans what is to happen to each request that comes.
func (l *link) readRequests() {
	defer l.requests.close()
	reader := bufio.NewReaderSize(l.client, 32<<10)
	for {
		raw, words, err := readRequest(reader)
		if err != nil && !errors.Is(err, errProtocol) {
			return
		}
		l.take(raw, words)
	}
}

func (l *link) take(raw []byte, words []string) {
	x := &exchange{raw: raw, words: words}
	if len(words) > 0 {
		learnScript(words)
		x.plan = l.proxy.faults.plan(words)
	}
	if x.plan.has(holdRequest) {
		x.due = time.Now().Add(x.plan.delay(holdRequest))
		l.mu.Lock()
		l.held++
		l.mu.Unlock()
	}
	if len(words) > 0 {
		l.proxy.ledger.record(received, words) // first: nobody may have a reply before
	}
	l.requests.push(x)
}

// writeRequests forwards until the client has hung up and the queue is empty, or
// the server is gone.
func (l *link) writeRequests(server *net.TCPConn) {
	for {
		x, ok := l.requests.pop(l.dead)
		if !ok || !l.await(x.due, l.dead) {
			return
		}
		if l.isSevered() && !x.plan.has(holdRequest) {
			continue
		}
		if l.expect(x) {
			_, _ = server.Write(x.raw) // a failure shows where the replies are read
		}
	}
}

// expect puts the request in the line of those that wait for a reply; false: it
// is answered here and must not be forwarded.
func (l *link) expect(x *exchange) bool {
	if len(x.words) == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pairing.pending = append(l.pairing.pending, x)
	if x.plan.has(refuseRequest) {
		l.answerRefusedLocked()
		return false
	}
	l.proxy.ledger.record(forwarded, x.words)
	return true
}
