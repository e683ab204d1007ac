package stats_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/stats"
)

func TestSpreadOf(t *testing.T) {
	cases := map[string]struct {
		values []float64
		want   stats.Spread
	}{
		"one":                  {[]float64{3}, stats.Spread{Median: 3, Min: 3, Max: 3}},
		"odd, unsorted":        {[]float64{9, 1, 4}, stats.Spread{Median: 4, Min: 1, Max: 9}},
		"even":                 {[]float64{8, 1, 2, 4}, stats.Spread{Median: 3, Min: 1, Max: 8}},
		"what is no number":    {[]float64{math.NaN(), 5, 7, 6}, stats.Spread{Median: 6, Min: 5, Max: 7}},
		"an outlier is a side": {[]float64{1, 1, 1, 1, 1000}, stats.Spread{Median: 1, Min: 1, Max: 1000}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			first := c.values[0]
			got, ok := stats.SpreadOf(c.values)
			assert.True(t, ok)
			assert.Equal(t, c.want, got)
			assert.True(t, c.values[0] == first || math.IsNaN(first), "the values are the caller's")
		})
	}
	_, ok := stats.SpreadOf([]float64{math.NaN()})
	assert.False(t, ok)
}

func TestRatiosStayWithinTheirRound(t *testing.T) {
	// A machine that became ten times slower after the first round: across rounds this would be 1 ÷ 20 or 5.
	got := stats.Ratios(map[int]float64{0: 100, 1: 10}, map[int]float64{0: 200, 1: 20})
	assert.Equal(t, []float64{0.5, 0.5}, got)
}

func TestRatiosLeaveOut(t *testing.T) {
	values := map[int]float64{0: 1, 1: 2, 2: math.NaN(), 3: 0}
	got := stats.Ratios(values, map[int]float64{1: 4, 2: 1, 3: 0, 4: 1})
	slices.Sort(got)
	assert.Equal(t, []float64{0.5, 1}, got, "rounds 1 and 3; two that did nothing are alike")
	assert.Equal(t, []float64{math.Inf(1)}, stats.Ratios(map[int]float64{0: 1}, map[int]float64{0: 0}))
}

func TestShares(t *testing.T) {
	assert.InDelta(t, 0.25, stats.Fairness([]int64{40, 10, 20}), 1e-9)
	assert.InDelta(t, 0, stats.Fairness([]int64{40, 0}), 1e-9)
	assert.True(t, math.IsNaN(stats.Fairness(nil)) && math.IsNaN(stats.Fairness([]int64{0, 0})))
	assert.InDelta(t, 0.4, stats.LeastShare([]int64{10, 30, 30, 30}), 1e-9, "10 of the 25 that are due")
	assert.True(t, math.IsNaN(stats.LeastShare([]int64{0, 0})))
}

// fill adds durations of all sizes, and returns them in order.
func fill(n int) (h *stats.Histogram, sorted []time.Duration) {
	random := rand.New(rand.NewPCG(1, 2))
	h = &stats.Histogram{}
	for range n {
		d := time.Duration(math.Exp(random.Float64() * 24)) // up to 26 s
		h.Add(d)
		sorted = append(sorted, d)
	}
	slices.Sort(sorted)
	return h, sorted
}

func TestHistogramQuantile(t *testing.T) {
	h, sorted := fill(10_000)
	for _, q := range []float64{0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
		exact := sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)].Seconds()
		assert.InDelta(t, exact, h.Quantile(q), exact/127+1e-9, "%v", q)
	}
	assert.Equal(t, sorted[len(sorted)-1], h.Max)
	assert.EqualValues(t, len(sorted), h.Count())
}

func TestHistogramSmall(t *testing.T) {
	var h stats.Histogram
	assert.True(t, math.IsNaN(h.Quantile(0.5)))
	for n := range 100 {
		h.Add(time.Duration(n) * time.Nanosecond)
	}
	assert.InDelta(t, 49e-9, h.Quantile(0.5), 1e-15, "below 64 ns every one has a bucket")
	h.Add(-time.Second)
	assert.EqualValues(t, 101, h.Count(), "a clock that went back is no reason to fall over")
}

func TestHistogramMergeAndTravel(t *testing.T) {
	whole, sorted := fill(3000)
	var parts [3]stats.Histogram
	for i, d := range sorted {
		parts[i%3].Add(d)
	}
	var merged stats.Histogram
	for i := range parts {
		parts[i].Pack()
		text, err := json.Marshal(parts[i])
		require.NoError(t, err)
		var arrived stats.Histogram
		require.NoError(t, json.Unmarshal(text, &arrived))
		merged.Merge(arrived)
	}
	assert.Equal(t, whole.Count(), merged.Count())
	assert.Equal(t, whole.Max, merged.Max)
	for _, q := range []float64{0.01, 0.5, 0.99} {
		assert.InDelta(t, whole.Quantile(q), merged.Quantile(q), 0)
	}
}
