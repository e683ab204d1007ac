package demo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/rlock"
)

// hash is a lock as Redis holds it.
type hash struct {
	fields map[string]string
	ttl    time.Duration
}

// look reads a lock's key without the help of rlock.
func (s *stage) look(lock *rlock.Lock) (hash, error) {
	var (
		fields *redis.MapStringStringCmd
		ttl    *redis.DurationCmd
	)
	_, err := s.rdb.TxPipelined(s.ctx, func(tx redis.Pipeliner) error {
		fields, ttl = tx.HGetAll(s.ctx, s.prefix+lock.Name()), tx.PTTL(s.ctx, s.prefix+lock.Name())
		return nil
	})
	if err != nil {
		return hash{}, fmt.Errorf("reading %s: %w", lock.Name(), err)
	}
	return hash{fields.Val(), ttl.Val()}, nil
}

// step writes one line: what was done, and what Redis holds now, which has to be what the story says.
func (s *stage) step(lock *rlock.Lock, want want, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	got, err := s.look(lock)
	if err != nil {
		return err
	}
	s.head(lock)
	s.printf("   %-64s %s\n", what, got)
	if fault := want.compare(got); fault != "" {
		return fmt.Errorf("after %q Redis ought to hold %v: %s", what, want, fault)
	}
	return nil
}

// head puts titles over the columns, once in each chapter: each is about one lock.
func (s *stage) head(lock *rlock.Lock) {
	if !s.headed {
		s.printf("   %-64s %-24s %9s\n", "", "HGETALL "+lock.Name(), "PTTL")
		s.headed = true
	}
}

// remark writes a line that belongs to the step before.
func (s *stage) remark(format string, args ...any) { s.printf("     "+format+"\n", args...) }

func (h hash) String() string {
	if len(h.fields) == 0 {
		return "(no key: free)"
	}
	var all []string
	for _, field := range slices.Sorted(maps.Keys(h.fields)) {
		all = append(all, shorten(field)+" x"+h.fields[field])
	}
	return fmt.Sprintf("%-24s %6d ms", strings.Join(all, " "), h.ttl.Milliseconds())
}

// shorten cuts the random part of a field, 36 characters that end before the colon, down to what tells two apart.
func shorten(field string) string {
	const random, kept = 36, 4
	appID, owner, _ := strings.Cut(field, ":")
	if len(appID) < random {
		return field
	}
	return appID[:len(appID)-random+kept] + "..:" + owner
}

// want is what the story says that Redis holds.
type want struct {
	label  string // of the client who is inside; empty: the lock is free
	levels int
	lease  time.Duration // that the time to live starts from
}

var free = want{}

// by says that the client of that label is inside so many times, with the lease that the watchdog renews.
func by(label string, levels int) want { return want{label, levels, 30 * time.Second} }

// leased is w with another lease.
func (w want) leased(d time.Duration) want {
	w.lease = d
	return w
}

// compare says what is wrong with h; nothing if it is empty.
func (w want) compare(h hash) string {
	if w == free {
		if len(h.fields) > 0 {
			return "the key is still there"
		}
		return ""
	}
	if len(h.fields) != 1 {
		return fmt.Sprintf("it has %d fields", len(h.fields))
	}
	for field, value := range h.fields {
		switch {
		case !strings.HasPrefix(field, w.label+"-"):
			return "it is somebody else's"
		case value != strconv.Itoa(w.levels):
			return "the count is " + value
		case h.ttl <= 0 || h.ttl > w.lease:
			return fmt.Sprintf("the time to live is %v", h.ttl)
		}
	}
	return ""
}

func (w want) String() string {
	if w == free {
		return "no key"
	}
	return fmt.Sprintf("one field of client %s, value %d, for up to %v", w.label, w.levels, w.lease)
}
