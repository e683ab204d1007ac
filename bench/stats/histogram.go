package stats

import (
	"math"
	"math/bits"
	"time"
)

// subBuckets is how many buckets there are between a power of two and the next: a quantile is right to within 1/128, half a
// bucket. The Java cell counts by the same rule.
const (
	subBits    = 6
	subBuckets = 1 << subBits
)

// Histogram counts durations. The zero value is empty; it is for one goroutine.
type Histogram struct {
	Counts map[int]int64 `json:"counts"` // by bucket
	Max    time.Duration `json:"max"`    // exact

	dense []int64 // the same by place, while it is being filled
}

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	place := bucketOf(d)
	if place >= len(h.dense) {
		h.dense = append(h.dense, make([]int64, place+1-len(h.dense))...)
	}
	h.dense[place]++
	h.Max = max(h.Max, d)
}

// Merge adds what other counted.
func (h *Histogram) Merge(other Histogram) {
	h.Pack()
	other.Pack()
	for place, n := range other.Counts {
		h.Counts[place] += n
	}
	h.Max = max(h.Max, other.Max)
}

// Pack brings the counts into the form that travels between processes.
func (h *Histogram) Pack() {
	if h.Counts == nil {
		h.Counts = make(map[int]int64)
	}
	for place, n := range h.dense {
		if n > 0 {
			h.Counts[place] += n
		}
	}
	h.dense = nil
}

// Count is how many were added.
func (h *Histogram) Count() int64 {
	h.Pack()
	var sum int64
	for _, n := range h.Counts {
		sum += n
	}
	return sum
}

// Quantile is the duration, in seconds, that the share q of all stays at or below; not a number if there are none.
func (h *Histogram) Quantile(q float64) float64 {
	rank := max(int64(math.Ceil(q*float64(h.Count()))), 1)
	for place := range highest(h.Counts) + 1 {
		rank -= h.Counts[place]
		if rank <= 0 {
			return min(middleOf(place), h.Max.Seconds())
		}
	}
	return math.NaN()
}

func highest(counts map[int]int64) int {
	top := -1
	for place := range counts {
		top = max(top, place)
	}
	return top
}

// bucketOf gives each nanosecond below 64 a bucket of its own, and above it 64 buckets to each doubling.
func bucketOf(d time.Duration) int {
	n := max(d.Nanoseconds(), 0)
	if n < subBuckets {
		return int(n)
	}
	shift := bits.Len64(uint64(n)) - subBits - 1
	return (shift+1)*subBuckets + int(n>>shift) - subBuckets
}

// middleOf is the middle of a bucket in seconds.
func middleOf(place int) float64 {
	if place < subBuckets {
		return float64(place) / 1e9
	}
	shift := place/subBuckets - 1
	low := float64(int64(place%subBuckets+subBuckets) << shift)
	return (low + float64(int64(1)<<shift)/2) / 1e9
}
