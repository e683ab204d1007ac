package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/rlock-go/rlock/bench/rows"
	"github.com/rlock-go/rlock/bench/stats"
)

// Format shows a value of the metric to three digits.
func Format(metric string, value float64) string {
	switch rows.Metrics[metric].Unit {
	case rows.Seconds:
		return scaled(value, 1000, []string{"s", "ms", "µs", "ns"})
	case rows.Bytes:
		if math.Abs(value) >= 1024 {
			return digits(value/1024) + " KB"
		}
		return digits(value) + " B"
	}
	return digits(value)
}

// scaled takes the first unit in which the value is not below 1.
func scaled(value, step float64, units []string) string {
	place := 0
	for ; place < len(units)-1 && math.Abs(value) < 1 && value != 0; place++ {
		value *= step
	}
	return digits(value) + " " + units[place]
}

// digits is three digits that count, and a comma at the thousands.
func digits(value float64) string {
	switch size := math.Abs(value); {
	case size >= 1000:
		whole := strconv.FormatInt(int64(math.Round(value)), 10)
		for place := len(whole) - 3; place > 0 && whole[place-1] != '-'; place -= 3 {
			whole = whole[:place] + "," + whole[place:]
		}
		return whole
	case size >= 100:
		return fmt.Sprintf("%.0f", value)
	case size >= 10:
		return fmt.Sprintf("%.1f", value)
	case size >= 0.1 || size == 0:
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.2g", value)
}

// FormatSpread shows the median and, of several rounds, how far the others lie.
func FormatSpread(metric string, s stats.Spread) string {
	if s.Min == s.Max { // of one round, or of several that say the same
		return Format(metric, s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", Format(metric, s.Median), Format(metric, s.Min), Format(metric, s.Max))
}

// FormatRatio shows a ratio as a multiple.
func FormatRatio(s stats.Spread) string {
	if s.Min == s.Max {
		return digits(s.Median) + " ×"
	}
	return fmt.Sprintf("%s × (%s–%s)", digits(s.Median), digits(s.Min), digits(s.Max))
}
