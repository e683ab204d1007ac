package faultproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"time"
)

// parcel is something for the client.
type parcel struct {
	raw []byte
	due time.Time // zero: at once
	cut bool      // reset the connection instead of sending
}

// readReplies sorts what the server says until it hangs up.
func (l *link) readReplies(server *net.TCPConn) {
	defer close(l.dead)
	defer l.replies.close()
	reader := bufio.NewReaderSize(server, 32<<10)
	for {
		f, err := readFrame(reader)
		if err != nil {
			l.hangUp(err)
			return
		}
		l.deliver(f)
	}
}

// hangUp passes on how the server ended the connection.
func (l *link) hangUp(err error) {
	if !errors.Is(err, io.EOF) {
		l.replies.push(parcel{cut: true})
	}
}

// writeReplies forwards to the client, even if nobody listens there any more,
// until the server has hung up.
func (l *link) writeReplies() {
	defer l.client.Close()
	stop := l.proxy.life.Done()
	for {
		p, ok := l.replies.pop(stop)
		if !ok || !l.await(p.due, stop) {
			return
		}
		if p.cut {
			reset(l.client)
			continue
		}
		_, _ = l.client.Write(p.raw)
	}
}

// deliver finds out what a frame answers, and lets the plan of that request have
// its way.
func (l *link) deliver(f frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, last := l.pairing.pair(f)
	if last {
		l.settleLocked(x, f) // first: who has the reply may ask what was answered
	}
	l.sendLocked(f.raw, x)
	l.answerRefusedLocked()
}

// sendLocked queues the frame for the client, unless it is lost.
func (l *link) sendLocked(raw []byte, x *exchange) {
	switch {
	case l.silent:
	case x == nil:
		l.replies.push(parcel{raw: raw, due: after(l.proxy.faults.pushDelay())})
	case x.plan.has(dropReply):
		l.silent = true
	case x.plan.has(cutAfterWrite):
		l.silent = true
		l.replies.push(parcel{cut: true})
	default:
		l.replies.push(parcel{raw: raw, due: after(x.plan.delay(delayReply))})
	}
}

// settleLocked does what an answered request leads to.
func (l *link) settleLocked(x *exchange, f frame) {
	l.proxy.ledger.record(answered, x.words)
	if !f.failed() {
		l.logins.note(x)
	}
	if x.plan.has(repeatRequest) {
		l.proxy.repeat(x, l.logins.list())
	}
	l.releaseLocked(x)
}

// releaseLocked stops counting the request if it was a held one.
func (l *link) releaseLocked(x *exchange) {
	if !x.plan.has(holdRequest) {
		return
	}
	l.held--
	select {
	case l.settled <- struct{}{}:
	default:
	}
}

// answerRefusedLocked answers the refused requests whose turn it is: their
// answers must not overtake those to earlier requests.
func (l *link) answerRefusedLocked() {
	for len(l.pairing.pending) > 0 {
		x := l.pairing.pending[0]
		if !x.plan.has(refuseRequest) {
			return
		}
		l.pairing.pending = l.pairing.pending[1:]
		l.releaseLocked(x)
		l.sendLocked([]byte(x.plan[refuseRequest].text), x)
	}
}

// after is the instant d from now, and zero for no delay.
func after(d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}
