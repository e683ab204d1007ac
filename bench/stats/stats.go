// Package stats is the arithmetic of the benchmarks: medians with their spread, ratios within a round, and latencies
// counted in buckets that can be added up over processes.
package stats

import (
	"math"
	"slices"
)

// Spread is what several rounds came to: the one in the middle, and how far the others lie.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf sums up values; false without any. Of an even number the median is the mean of the two in the middle. What is
// not a number is left out, for it was not measured.
func SpreadOf(values []float64) (Spread, bool) {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(sorted) == 0 {
		return Spread{}, false
	}
	slices.Sort(sorted)
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Spread{Median: median, Min: sorted[0], Max: sorted[len(sorted)-1]}, true
}

// Ratios divides round by round. A machine's speed drifts while a run lasts, so a value is compared with its neighbour in
// the same round alone; rounds that one of the two lacks are left out. 0 ÷ 0 is 1: neither did anything.
func Ratios(values, by map[int]float64) []float64 {
	var ratios []float64
	for round, value := range values {
		divisor, ok := by[round]
		if !ok || math.IsNaN(value) || math.IsNaN(divisor) {
			continue
		}
		if value == 0 && divisor == 0 {
			ratios = append(ratios, 1)
			continue
		}
		ratios = append(ratios, value/divisor)
	}
	return ratios
}

// Fairness is the smallest share divided by the largest: 1 when all got the same, 0 when somebody got nothing.
func Fairness(shares []int64) float64 {
	if len(shares) == 0 {
		return math.NaN()
	}
	most := slices.Max(shares)
	if most == 0 {
		return math.NaN()
	}
	return float64(slices.Min(shares)) / float64(most)
}

// LeastShare is the smallest share divided by what an even distribution would give to each.
func LeastShare(shares []int64) float64 {
	var sum int64
	for _, share := range shares {
		sum += share
	}
	if sum == 0 {
		return math.NaN()
	}
	return float64(slices.Min(shares)) * float64(len(shares)) / float64(sum)
}
