package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// DelayCommand is the subcommand under which this program is a delaying proxy, in a process of its own.
const DelayCommand = "delay-proxy"

// StartDelay starts a proxy in front of addr, through which a round trip takes that much longer: a half each way. Like a
// long line it delays and nothing else: what is sent meanwhile is under way meanwhile.
func StartDelay(ctx context.Context, addr string, roundTrip time.Duration) (*Server, error) {
	dir, err := os.MkdirTemp(memoryDir(), "rlock-bench-")
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, DelayCommand, strconv.Itoa(port), addr, roundTrip.String()) //nolint:gosec // ourselves
	proc, err := launch(cmd, dir)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: "127.0.0.1:" + strconv.Itoa(port), proc: proc, dir: dir}
	return s, awaitPort(ctx, proc, s.Addr)
}

// ServeDelay is the proxy. It takes the words that StartDelay gave and runs until it is killed.
func ServeDelay(words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("servers: %s wants a port, an address and a duration", DelayCommand)
	}
	roundTrip, err := time.ParseDuration(words[2])
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+words[0])
	if err != nil {
		return err
	}
	there, back := newLine(roundTrip/2), newLine(roundTrip/2)
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		server, err := net.Dial("tcp", words[1])
		if err != nil {
			return err
		}
		go there.carry(client, server)
		go back.carry(server, client)
	}
}

// line is one direction of all connections. Its delay is the same for all, so what came first is due first, and one
// goroutine that sleeps until then serves any number of connections.
type line struct {
	delay   time.Duration
	parcels chan parcel
}

type parcel struct {
	due  time.Time
	to   net.Conn
	data *[]byte // nil: nothing follows
}

// inFlight bounds what a line carries at a time: more than all clients together have under way.
const inFlight = 1 << 16

var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 64<<10)) }}

func newLine(delay time.Duration) *line {
	l := &line{delay: delay, parcels: make(chan parcel, inFlight)}
	go l.deliver()
	return l
}

// carry takes what comes from one side until it hangs up.
func (l *line) carry(from, to net.Conn) {
	for {
		data := buffers.Get().(*[]byte) //nolint:forcetypeassert // the pool's only kind
		n, err := from.Read((*data)[:cap(*data)])
		if n > 0 {
			*data = (*data)[:n]
			l.parcels <- parcel{time.Now().Add(l.delay), to, data}
		}
		if err != nil {
			l.parcels <- parcel{time.Now().Add(l.delay), to, nil}
			return
		}
	}
}

// deliver hands over what is due.
func (l *line) deliver() {
	for p := range l.parcels {
		sleepUntil(p.due)
		if p.data == nil {
			_ = p.to.Close()
			continue
		}
		_, _ = p.to.Write(*p.data) // who hung up is noticed by carry
		*p.data = (*p.data)[:0]
		buffers.Put(p.data)
	}
}

// sleepUntil asks the kernel, for Go's own timers are late by up to a millisecond in a process that is idle.
func sleepUntil(due time.Time) {
	for {
		left := time.Until(due)
		if left <= 0 {
			return
		}
		wait := syscall.NsecToTimespec(left.Nanoseconds())
		_ = syscall.Nanosleep(&wait, nil) // a signal makes it return early: once more
	}
}
