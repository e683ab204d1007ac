package rows

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/stats"
)

// worker is one goroutine's part. Its numbers are its own until it has ended.
type worker struct {
	handles []peers.Handle // used in turn
	ops     int64          // that ended in time
	stuck   bool           // waited until patience was over
	waits   stats.Histogram
}

// crowd is goroutines that lock and unlock for a time.
type crowd struct {
	workers []*worker
	busy    time.Duration // how long each hold lasts
	latest  atomic.Int64  // when a lock was granted latest after the end, or the end
	pairs   bool          // the release is part of what is measured
	inside  *atomic.Int64 // how many are inside their lock; nil where locks are distinct
}

// newCrowd makes the handles: worker i uses those of names(i).
func newCrowd(client peers.Client, spec cells.Spec, names func(worker int) []string) (*crowd, error) {
	c := &crowd{busy: spec.Busy}
	for i := range spec.Goroutines {
		w := &worker{}
		for _, name := range names(i) {
			handle, err := client.Handle(name)
			if err != nil {
				return nil, err
			}
			w.handles = append(w.handles, handle)
		}
		c.workers = append(c.workers, w)
	}
	return c, nil
}

// patience is how long a wait may go on after the last that ended, when nobody begins another. A waiter that is not in by
// then was never told.
const patience = 15 * time.Second

// run lets all work for d. An acquire that is under way then still ends, and its wait counts, so that a goroutine which
// starved does not go unseen; but it is no acquisition of this time.
func (c *crowd) run(d time.Duration) error {
	end := time.Now().Add(d)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c.latest.Store(end.UnixNano())
	go c.giveUp(ctx, cancel)
	failures := make(chan error, len(c.workers))
	var tasks sync.WaitGroup
	for _, w := range c.workers {
		w.ops, w.stuck, w.waits = 0, false, stats.Histogram{}
		tasks.Go(func() {
			if err := c.work(ctx, w, end); err != nil {
				failures <- err
				cancel(err)
			}
		})
	}
	tasks.Wait()
	close(failures)
	return <-failures
}

// errStuck ends waits that would go on for ever.
var errStuck = errors.New("never woken")

// giveUp ends the waits when patience is over.
func (c *crowd) giveUp(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		left := time.Until(time.Unix(0, c.latest.Load()).Add(patience))
		if left <= 0 {
			cancel(errStuck)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
}

func (c *crowd) work(ctx context.Context, w *worker, end time.Time) error {
	for turn := 0; ; turn++ {
		start := time.Now()
		if !start.Before(end) {
			return nil
		}
		granted, err := c.once(ctx, w.handles[turn%len(w.handles)])
		if errors.Is(context.Cause(ctx), errStuck) {
			w.stuck = true
			w.waits.Add(time.Since(start))
			return nil
		}
		if err != nil {
			return err
		}
		if c.pairs {
			granted = time.Now()
		}
		w.waits.Add(granted.Sub(start))
		if granted.After(end) {
			c.latest.Store(granted.UnixNano())
		} else {
			w.ops++
		}
	}
}

// errNotAlone means that a lock did not lock.
var errNotAlone = errors.New("two were inside the lock at once")

func (c *crowd) once(ctx context.Context, handle peers.Handle) (granted time.Time, err error) {
	if err := handle.Lock(ctx); err != nil {
		return granted, err
	}
	granted = time.Now()
	if c.inside != nil && c.inside.Add(1) != 1 {
		return granted, errNotAlone
	}
	if c.busy > 0 {
		time.Sleep(c.busy)
	}
	if c.inside != nil {
		c.inside.Add(-1)
	}
	return granted, handle.Unlock(ctx)
}

// result adds up the workers.
func (c *crowd) result() cells.Result {
	var r cells.Result
	for _, w := range c.workers {
		r.Ops += w.ops
		if w.stuck {
			r.Stuck++
		}
		r.Shares = append(r.Shares, w.ops)
		if w.waits.Count() > 0 {
			r.Tails = append(r.Tails, w.waits.Quantile(0.99))
		}
		r.Waits.Merge(w.waits)
	}
	return r
}

// perform is the work of every row whose processes are crowds: warm up, get ready, work.
func (c *crowd) perform(s *cells.Stage) (cells.Result, error) {
	if err := c.run(s.Spec.Warmup); err != nil {
		return cells.Result{}, err
	}
	if err := s.Ready(); err != nil {
		return cells.Result{}, err
	}
	if err := c.run(s.Spec.Duration); err != nil {
		return cells.Result{}, err
	}
	return s.Stop(c.result()), nil
}
