package faultproxy

import (
	"bufio"
	"context"
	"net"
	"slices"
	"strings"
	"time"
)

// logins are the requests without which a connection of the proxy's own would
// not be allowed what the client's is, or would do it elsewhere. A later one
// replaces an earlier one of the same command.
type logins struct{ hello, auth, database *exchange }

func (l *logins) note(x *exchange) {
	switch strings.ToLower(x.words[0]) {
	case "hello":
		l.hello = x
	case "auth":
		l.auth = x
	case "select":
		l.database = x
	}
}

func (l *logins) list() []*exchange {
	all := []*exchange{l.hello, l.auth, l.database}
	return slices.DeleteFunc(all, func(x *exchange) bool { return x == nil })
}

// repeat sends the request once more when its time has come. It does not wait.
func (p *Proxy) repeat(x *exchange, logins []*exchange) {
	due := time.Now().Add(x.plan.delay(repeatRequest))
	p.tasks.Go(func() {
		if p.sleep(due) && p.gate.pass(p.life.Done()) {
			p.again(x, logins)
		}
	})
}

// again is best effort: a server that is down gets no repetition, and
// [Proxy.Answered] does not rise.
func (p *Proxy) again(x *exchange, logins []*exchange) {
	conn, err := p.dial()
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(p.life, func() { reset(conn) })()
	own := bufio.NewReader(conn)
	for _, login := range logins {
		if ask(conn, own, login) != nil {
			return
		}
	}
	p.ledger.record(forwarded, x.words)
	if ask(conn, own, x) == nil {
		p.ledger.record(answered, x.words)
	}
}

// ask sends the request and throws the reply away.
func ask(conn net.Conn, replies *bufio.Reader, x *exchange) error {
	if _, err := conn.Write(x.raw); err != nil {
		return err
	}
	for {
		f, err := readFrame(replies)
		if err != nil || f.kind != '>' {
			return err
		}
	}
}
