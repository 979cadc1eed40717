package pages

import (
	"fmt"
	"math/rand/v2"
)

// PageSize is the number of results on every page of a school except its last (4.6).
const PageSize = 1000

// Options select a world.
type Options struct {
	Results    int // in all schools except the huge one
	SchoolSize int // results in each of these schools; the last school may have fewer
	Huge       int // results in one more school; 0 means none
}

// String returns a name for the world, which is also a valid file name.
func (o Options) String() string {
	if o.Huge > 0 {
		return fmt.Sprintf("%dx%d+%d", o.Results, o.SchoolSize, o.Huge)
	}
	return fmt.Sprintf("%dx%d", o.Results, o.SchoolSize)
}

// Title returns a description of the world.
func (o Options) Title() string {
	if o.Huge > 0 {
		return fmt.Sprintf("%d results, and %d in one school", o.Results, o.Huge)
	}
	return fmt.Sprintf("%d results", o.Results)
}

// School is a school of the list of schools (4.1).
type School struct {
	Bid      string `json:"schoolBid"`
	Name     string `json:"name"`
	District string `json:"districtBid"`
	Results  int    `json:"-"`

	first int // number of the school's first result in the world
}

// Pages returns the number of pages of the school, which is at least one.
func (s *School) Pages() int {
	return max(1, (s.Results+PageSize-1)/PageSize)
}

// World is a service's content. It may be used concurrently.
type World struct {
	schools []School
	byBid   map[string]int
}

// NewWorld returns the world that the options describe.
func NewWorld(o Options) *World {
	w := &World{byBid: map[string]int{}}
	random := rand.New(rand.NewPCG(1, 0))
	add := func(results, first int) int {
		s := School{
			Bid: string(appendBid(nil, random)), District: fmt.Sprintf("district-%02d", len(w.schools)/50),
			Name: fmt.Sprintf("School %d", len(w.schools)+1), Results: results, first: first,
		}
		w.byBid[s.Bid] = len(w.schools)
		w.schools = append(w.schools, s)
		return first + results
	}
	next := 0
	if o.Huge > 0 {
		next = add(o.Huge, next)
	}
	for left := o.Results; left > 0; left -= o.SchoolSize {
		next = add(min(left, o.SchoolSize), next)
	}
	return w
}

// Schools returns all schools. The caller must not change them.
func (w *World) Schools() []School {
	return w.schools
}

// School returns the school with the given bid, or nil if there is none.
func (w *World) School(bid string) *School {
	i, ok := w.byBid[bid]
	if !ok {
		return nil
	}
	return &w.schools[i]
}

// Totals holds the expected totals of an export of the world: the number of rows of each table and the sums of some
// columns.
type Totals struct {
	Results    int64 `json:"test_results.rows"`
	RIT        int64 `json:"test_results.rit"`
	Duration   int64 `json:"test_results.duration"`
	Norms      int64 `json:"test_result_norms.rows"`
	Percentile int64 `json:"test_result_norms.percentile"`
	Areas      int64 `json:"test_result_instructional_areas.rows"`
	Score      int64 `json:"test_result_instructional_areas.score"` // in tenths
}

// appendBid appends 128 random bits in the form of a UUID.
func appendBid(buf []byte, random *rand.Rand) []byte {
	const digits = "0123456789abcdef"
	high, low := random.Uint64(), random.Uint64()
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			buf = append(buf, '-')
		}
		word := high
		if i >= 16 {
			word = low
		}
		buf = append(buf, digits[word>>(60-4*(i%16))&15])
	}
	return buf
}
