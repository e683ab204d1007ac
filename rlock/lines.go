package rlock

import (
	"context"
	"sync"
)

// lines are on their way to the log. A logger may be slow, or hang on a pipe that nobody reads; neither the news of a loss
// nor the turn of a waiter may wait for it.
type lines struct {
	mu    sync.Mutex // guards what follows; no line is written under it
	queue []func()
	idle  chan struct{} // closed when the writer has ended; nil before the first line
}

// lineQueue is how many lines wait at most. What comes beyond that is dropped: a log that does not keep up is no reason to
// grow.
const lineQueue = 1000

// put leaves a line to the writer, and starts one if there is none.
func (l *lines) put(line func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= lineQueue {
		return
	}
	l.queue = append(l.queue, line)
	if l.idle == nil || isClosed(l.idle) {
		l.idle = make(chan struct{})
		go l.write(l.idle)
	}
}

// write is the writer: it ends when there is nothing left to write.
func (l *lines) write(idle chan struct{}) {
	for line := l.next(idle); line != nil; line = l.next(idle) {
		line()
	}
}

func (l *lines) next(idle chan struct{}) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		close(idle)
		return nil
	}
	line := l.queue[0]
	l.queue = l.queue[1:]
	return line
}

// flush waits until all is written, as long as ctx allows.
func (l *lines) flush(ctx context.Context) error {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
