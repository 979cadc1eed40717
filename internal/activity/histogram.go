package activity

import (
	"maps"
	"math"
	"slices"
	"time"
)

// perOctave is how many buckets of a histogram lie between a time and its double: a percentile is off by at most 5 %.
const perOctave = 8

// Histogram counts times by their logarithm. The key of a bucket is the logarithm of its lower end, in milliseconds, to the
// base of the 8th root of 2. What took less than a millisecond counts as that.
type Histogram map[int]int64

func (h *Histogram) observe(d time.Duration) {
	if *h == nil {
		*h = make(Histogram)
	}
	ms := max(float64(d)/float64(time.Millisecond), 1)
	(*h)[int(math.Floor(math.Log2(ms)*perOctave))]++
}

// plus is the sum of both; it may be h, changed.
func (h Histogram) plus(other Histogram) Histogram {
	if h == nil {
		return maps.Clone(other)
	}
	for bucket, n := range other {
		h[bucket] += n
	}
	return h
}

// Count is how many times were observed.
func (h Histogram) Count() int64 {
	var n int64
	for _, count := range h {
		n += count
	}
	return n
}

// Percentile is the time that the given percentage of all did not exceed, as exact as the buckets are; 0 if there is none.
func (h Histogram) Percentile(percentage float64) time.Duration {
	rank := int64(math.Ceil(float64(h.Count()) * percentage / 100))
	for _, bucket := range slices.Sorted(maps.Keys(h)) {
		if rank -= h[bucket]; rank <= 0 {
			return time.Duration(math.Exp2((float64(bucket)+0.5)/perOctave) * float64(time.Millisecond))
		}
	}
	return 0
}
