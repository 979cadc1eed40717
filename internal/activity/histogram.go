package activity

import (
	"maps"
	"math"
	"slices"
	"time"
)

// perOctave is the number of buckets per doubling of the duration. Percentiles are accurate to 5 %.
const perOctave = 8

// Histogram counts durations by their logarithm. The key of a bucket is the logarithm of its lower bound in
// milliseconds, to the base of the 8th root of 2. Durations below a millisecond count as one millisecond.
type Histogram map[int]int64

func (h *Histogram) observe(d time.Duration) {
	if *h == nil {
		*h = make(Histogram)
	}
	ms := max(float64(d)/float64(time.Millisecond), 1)
	(*h)[int(math.Floor(math.Log2(ms)*perOctave))]++
}

// plus returns the sum of both histograms. It may modify and return h.
func (h Histogram) plus(other Histogram) Histogram {
	if h == nil {
		return maps.Clone(other)
	}
	for bucket, n := range other {
		h[bucket] += n
	}
	return h
}

// Count returns the number of durations.
func (h Histogram) Count() int64 {
	var n int64
	for _, count := range h {
		n += count
	}
	return n
}

// Percentile returns the duration that this percentage of durations does not exceed, to the precision of the buckets.
// It returns 0 if the histogram is empty.
func (h Histogram) Percentile(percentage float64) time.Duration {
	rank := int64(math.Ceil(float64(h.Count()) * percentage / 100))
	for _, bucket := range slices.Sorted(maps.Keys(h)) {
		if rank -= h[bucket]; rank <= 0 {
			return time.Duration(math.Exp2((float64(bucket)+0.5)/perOctave) * float64(time.Millisecond))
		}
	}
	return 0
}
