package stress_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// turn is the time in which an owner could rely on its hold of a lock.
type turn struct {
	lock, owner string
	from, to    time.Duration
}

func (u turn) String() string {
	return fmt.Sprintf("%s held %s for %v until %v", u.owner, u.lock, u.to-u.from, u.to)
}

// change is what a holder did to the plain value behind a lock. No two changes write the same.
type change struct {
	lock, owner string
	read, wrote string
	// sure: the hold was good when the write had come to its end. Of a write after a loss nothing is promised, and
	// another may undo it.
	sure bool
}

// history is what the holders say they did.
type history struct {
	mu      sync.Mutex // guards what follows
	turns   []turn
	changes []change
}

func (h *history) tookTurn(u turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns = append(h.turns, u)
}

func (h *history) changed(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = append(h.changes, c)
}

// faults are the violations of exclusion in the history.
func (h *history) faults() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(overlaps(h.turns), lostUpdates(h.changes)...)
}

// overlaps finds turns that begin before an earlier one of the same lock is over. It compares with the one that lasts
// longest, for a turn can lie within another.
func overlaps(turns []turn) (faults []string) {
	turns = slices.SortedFunc(slices.Values(turns), func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(a.from, b.from))
	})
	var last turn
	for _, u := range turns {
		if u.lock != last.lock {
			last = turn{lock: u.lock}
		}
		if u.from < last.to {
			faults = append(faults, fmt.Sprintf("two holders for %v: %v, and %v", min(u.to, last.to)-u.from, last, u))
		}
		if u.to > last.to {
			last = u
		}
	}
	return faults
}

// lostUpdates finds changes that were made to the same value: one of them is lost.
func lostUpdates(changes []change) (faults []string) {
	type value struct{ lock, text string }
	readers := map[value]change{}
	for _, c := range changes {
		if !c.sure {
			continue
		}
		read := value{c.lock, c.read}
		if other, again := readers[read]; again {
			faults = append(faults, fmt.Sprintf("an update of %s is lost: %s and %s both changed %q", c.lock, other.owner, c.owner, c.read))
		}
		readers[read] = c
	}
	return faults
}

// register is the plain value behind each lock.
type register struct{ rdb *redis.Client }

// newRegister has connections of its own, and never sends anything twice.
func newRegister(addr string) register {
	return register{redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: time.Minute})}
}

func (r register) read(lock string) (string, error) {
	text, err := r.rdb.Get(context.Background(), "value of "+lock).Result()
	if err == redis.Nil { //nolint:errorlint // never wrapped
		return "", nil
	}
	return text, err
}

func (r register) write(lock, text string) error {
	return r.rdb.Set(context.Background(), "value of "+lock, text, 0).Err()
}

func TestHistory_FindsTwoHolders(t *testing.T) {
	ann := turn{"x", "ann", 10, 20}
	assert.Empty(t, overlaps([]turn{ann, {"x", "bob", 20, 30}, {"x", "cid", 5, 10}}), "one after the other")
	assert.Empty(t, overlaps([]turn{ann, {"y", "bob", 15, 25}}), "another lock")
	assert.Len(t, overlaps([]turn{ann, {"x", "bob", 19, 30}}), 1)
	assert.Len(t, overlaps([]turn{{"x", "bob", 5, 11}, ann}), 1)
	assert.Len(t, overlaps([]turn{{"x", "bob", 5, 100}, ann, {"x", "cid", 30, 40}}), 2, "within another, and not next to it")
}

func TestHistory_FindsALostUpdate(t *testing.T) {
	ann := change{"x", "ann", "", "1", true}
	assert.Empty(t, lostUpdates([]change{ann, {"x", "bob", "1", "2", true}, {"y", "bob", "", "3", true}}))
	assert.Empty(t, lostUpdates([]change{ann, {"x", "bob", "", "2", false}}), "whose hold was lost before the end of the write")
	assert.Len(t, lostUpdates([]change{ann, {"x", "bob", "1", "2", true}, {"x", "cid", "", "3", true}}), 1)
}

// Owners who do without a lock: what they do is found in both ways. So the holders of the attacks would be found as well.
func TestHistory_FindsAMissingLock(t *testing.T) {
	s := newStage(t)
	var (
		h    history
		crew sync.WaitGroup
	)
	for i := range 4 {
		crew.Go(func() {
			owner := strconv.Itoa(i)
			for n := range 50 {
				u := turn{lock: "x", owner: owner, from: instant()}
				c := change{lock: "x", owner: owner, wrote: fmt.Sprint(i, n), sure: true}
				var err error
				c.read, err = s.values.read("x")
				assert.NoError(t, err)
				assert.NoError(t, s.values.write("x", c.wrote))
				u.to = instant()
				h.tookTurn(u)
				h.changed(c)
			}
		})
	}
	crew.Wait()
	assert.NotEmpty(t, overlaps(h.turns))
	assert.NotEmpty(t, lostUpdates(h.changes))
}
