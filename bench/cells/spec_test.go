package cells_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/cells"
)

func TestSpecTravels(t *testing.T) {
	spec := cells.Spec{
		Peer: "redislock 5ms", Addr: "127.0.0.1:6379", Work: "hot", Role: "holder", Prefix: "a=b", Process: 3, Goroutines: 64,
		Names: 100_000, Distance: time.Millisecond, Lease: 30 * time.Second, Busy: 1500 * time.Microsecond, Warmup: time.Second,
		Duration: 3 * time.Second,
	}
	got, err := cells.ParseSpec(spec.Args())
	require.NoError(t, err)
	assert.Equal(t, spec, got)
}

func TestParseSpecRefuses(t *testing.T) {
	for _, word := range []string{"work", "colour=red", "names=many", "lease=3s"} {
		_, err := cells.ParseSpec([]string{word})
		assert.ErrorContains(t, err, word)
	}
}
