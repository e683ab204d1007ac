package faultproxy

import "sync"

// queue is what waits in one direction of a connection: no bound, so that
// whoever fills it never waits for a fault at the other end.
type queue[T any] struct {
	mu     sync.Mutex // guards items and closed
	items  []T
	closed bool
	more   chan struct{} // size 1: a token after each change
}

func newQueue[T any]() *queue[T] { return &queue[T]{more: make(chan struct{}, 1)} }

// push adds an item; after close it is dropped.
func (q *queue[T]) push(item T) {
	q.mu.Lock()
	if !q.closed {
		q.items = append(q.items, item)
	}
	q.mu.Unlock()
	q.signal()
}

// close lets pop return what is there and then false.
func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

func (q *queue[T]) signal() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// pop waits for the next item; false: there is none and will be none, or stop
// was closed. It is for one goroutine.
func (q *queue[T]) pop(stop <-chan struct{}) (item T, ok bool) {
	for {
		item, ok, closed := q.take()
		if ok || closed {
			return item, ok
		}
		select {
		case <-q.more:
		case <-stop:
			return item, false
		}
	}
}

func (q *queue[T]) take() (item T, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return item, false, q.closed
	}
	item = q.items[0]
	var none T
	q.items[0] = none // what was sent can be collected
	q.items = q.items[1:]
	return item, true, q.closed
}
