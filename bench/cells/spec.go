// Package cells is one measurement: a lock library doing one kind of work in fresh processes.
//
// The parent starts each process with a [Spec] on its command line. The process opens its client, warms up, and says that
// it is ready; the parent looks at the server's counters and lets all processes of the cell go at once; each answers with a
// [Result], and the parent looks at the counters again. So what the server did is told in the same way for every library,
// also for one that runs on another virtual machine, and nothing of the start-up is in any number.
package cells

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Spec is what one process of a cell shall do. On the command line it is words of the form name=value, durations in whole
// microseconds, which the Java cell reads as well.
type Spec struct {
	Peer       string        `arg:"peer"`
	Addr       string        `arg:"addr"` // of the server, host:port
	Work       string        `arg:"work"` // which kind of work, a key of the child's table
	Role       string        `arg:"role"` // where the processes of one cell do different things
	Prefix     string        `arg:"prefix"`
	Process    int           `arg:"process"`
	Goroutines int           `arg:"goroutines"`
	Names      int           `arg:"names"`    // how many locks there are
	Distance   time.Duration `arg:"distance"` // by how much a round trip is longer
	Lease      time.Duration `arg:"lease"`
	Busy       time.Duration `arg:"busy"` // how long each hold lasts
	Warmup     time.Duration `arg:"warmup"`
	Duration   time.Duration `arg:"duration"`
}

// Args is the spec as words of a command line.
func (s Spec) Args() []string {
	var words []string
	value := reflect.ValueOf(s)
	for i := range value.NumField() {
		var text string
		switch field := value.Field(i).Interface().(type) {
		case time.Duration:
			text = strconv.FormatInt(field.Microseconds(), 10)
		default:
			text = fmt.Sprint(field)
		}
		words = append(words, value.Type().Field(i).Tag.Get("arg")+"="+text)
	}
	return words
}

// ParseSpec reads what [Spec.Args] wrote.
func ParseSpec(words []string) (Spec, error) {
	var s Spec
	value := reflect.ValueOf(&s).Elem()
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			return s, fmt.Errorf("cells: %q is not of the form name=value", word)
		}
		if err := set(value, name, text); err != nil {
			return s, fmt.Errorf("cells: %q: %w", word, err)
		}
	}
	return s, nil
}

func set(spec reflect.Value, name, text string) error {
	for i := range spec.NumField() {
		if spec.Type().Field(i).Tag.Get("arg") != name {
			continue
		}
		if spec.Field(i).Kind() == reflect.String {
			spec.Field(i).SetString(text)
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		if spec.Field(i).Type() == reflect.TypeFor[time.Duration]() {
			n *= int64(time.Microsecond)
		}
		spec.Field(i).SetInt(n)
		return nil
	}
	return fmt.Errorf("no field of that name")
}

// Name is the name of the lock with that number. Each cell has a prefix of its own, so that no cell meets what another
// left behind.
func (s Spec) Name(number int) string { return s.Prefix + ":" + strconv.Itoa(number) }
