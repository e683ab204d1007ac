package cells

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"time"
)

// Stage is the process's side of a cell.
type Stage struct {
	Spec Spec

	in  *bufio.Reader
	out *json.Encoder

	began meters
	ended chan meters // gets the meters when the time of the spec is over
}

// meters are what the process has used up to an instant.
type meters struct {
	at     time.Time
	cpu    time.Duration
	allocs uint64
}

func readMeters() meters { return meters{at: time.Now(), cpu: cpuTime(), allocs: Mallocs()} }

// Work is one kind of work. It prepares and warms up, calls [Stage.Ready], works for the time of the spec, and calls
// [Stage.Stop] with what it found.
type Work func(*Stage) (Result, error)

// Play runs one process of a cell to its end: until the parent closes in. What the work left running ends with the
// process.
func Play(spec Spec, work Work, in io.Reader, out io.Writer) error {
	s := &Stage{Spec: spec, in: bufio.NewReader(in), out: json.NewEncoder(out)}
	result, err := work(s)
	if err != nil {
		if told := s.out.Encode(message{Event: failed, Error: err.Error()}); told != nil {
			return fmt.Errorf("cells: %w (of which the parent was not told: %w)", err, told)
		}
		return nil
	}
	if err := s.out.Encode(message{Event: done, Result: result}); err != nil {
		return fmt.Errorf("cells: telling the result: %w", err)
	}
	_, _ = s.in.ReadString('\n') // until the parent has looked at the server
	return nil
}

// Ready tells the parent that all is warm, waits for its word and starts the meters. They stop by themselves when the time
// of the spec is over, for some of the work may end long after that, idly waiting.
func (s *Stage) Ready() error {
	runtime.GC() // what the warm-up left is not the measured part's to sweep
	if err := s.out.Encode(message{Event: ready}); err != nil {
		return fmt.Errorf("cells: %w", err)
	}
	word, err := s.in.ReadString('\n')
	if err != nil || word != begin+"\n" {
		return fmt.Errorf("cells: the parent said %q (%w)", word, err)
	}
	s.ended = make(chan meters, 1)
	s.began = readMeters()
	time.AfterFunc(s.Spec.Duration, func() { s.ended <- readMeters() })
	return nil
}

// Stop completes what the work found by what the meters saw.
func (s *Stage) Stop(r Result) Result {
	ended := <-s.ended
	r.Seconds = ended.at.Sub(s.began.at).Seconds()
	r.CPU = (ended.cpu - s.began.cpu).Seconds()
	if r.Ops > 0 && r.Allocs == 0 {
		r.Allocs = float64(ended.allocs-s.began.allocs) / float64(r.Ops)
	}
	r.Waits.Pack()
	r.Pings.Pack()
	return r
}

// Mallocs is how many objects the process has allocated so far.
func Mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// Heap is how many bytes of objects are reachable.
func Heap() uint64 {
	runtime.GC()
	runtime.GC() // finalizers of the first round
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
