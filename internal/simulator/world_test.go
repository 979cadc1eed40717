package simulator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaultWorld(t *testing.T) {
	t.Parallel()
	w := NewWorld(Options{})
	schools := w.Schools()
	require.Len(t, schools, 12)
	largest := 0
	for i, want := range []int{0, 1, 999, 1000, 1001} {
		require.Equal(t, want, schools[i].Results)
	}
	bids := map[string]bool{}
	for _, s := range schools {
		largest = max(largest, s.Results)
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, s.Bid)
		bids[s.Bid] = true
	}
	require.Len(t, bids, len(schools))
	require.Greater(t, largest, 3000, "one school has several thousand results")
	require.InDelta(t, 15000, w.Results(), 600)

	districts := w.Districts()
	require.Len(t, districts, 4)
	require.True(t, districts[3].State)
	two := 0
	for i := range schools {
		perspectives := w.Perspectives(i)
		require.Contains(t, perspectives, w.schools[i].district)
		two += len(perspectives) - 1
	}
	require.Positive(t, two, "the state sees some schools")
	require.Less(t, two, len(schools), "but not all")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	require.Empty(t, NewWorld(Options{Schools: -1}).Schools())
	require.Empty(t, NewWorld(Options{SchoolSizes: []int{}}).Schools())
	require.Len(t, NewWorld(Options{Schools: 3, Districts: 1}).Schools(), 3)
	require.Len(t, NewWorld(Options{Districts: 1}).Districts(), 1, "no state of one district")

	even := make([]int, 300)
	for i := range even {
		even[i] = 2000
	}
	w := NewWorld(Options{SchoolSizes: even, Districts: 20})
	require.Equal(t, 600_000, w.Results())
	for _, d := range w.Districts() {
		require.NotEmpty(t, d.Schools)
	}
}

func TestBidsAreReadBack(t *testing.T) {
	t.Parallel()
	w, stranger := NewWorld(Options{Seed: 1}), NewWorld(Options{Seed: 2})
	for _, at := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1<<24 - 1, 1<<32 - 1}, {299, 12345}} {
		text := w.BidOf(ResultEntity, at[0], at[1]).String()
		what, group, index, ok := w.FindBid(text)
		require.True(t, ok)
		require.Equal(t, []int{int(ResultEntity), at[0], at[1]}, []int{int(what), group, index})
		_, _, _, ok = stranger.FindBid(text)
		require.False(t, ok)
		for i := range text {
			changed := []byte(text)
			changed[i] ^= 1
			_, _, _, ok = w.FindBid(string(changed))
			require.False(t, ok, "%s", changed)
		}
	}
}

// TestResultsAreBelievable checks facts about results that the specification states or public clients have observed.
func TestResultsAreBelievable(t *testing.T) {
	t.Parallel()
	w := NewWorld(Options{})
	type sum struct{ n, rit int }
	means := map[[2]int]*sum{} // by subject and grade
	moved, terms := 0, map[session]int{}
	for school := range w.listed {
		seen := map[[3]int]bool{}
		for i := range w.resultPlaces(school) {
			r, ok := w.testEvent(school, i)
			if !ok {
				require.False(t, w.schools[school].steady)
				continue
			}
			key := [3]int{r.school, r.student.index, r.subject}
			require.False(t, seen[key], "at most one result per student and subject")
			seen[key] = true
			require.True(t, r.student.matched)
			for _, at := range []int64{r.start, r.end, r.modified} {
				require.Less(t, at, w.AsOf().UnixMilli())
				require.GreaterOrEqual(t, at, w.AsOf().AddDate(-1, 0, 0).UnixMilli())
			}
			require.Less(t, r.start, r.end)
			require.LessOrEqual(t, r.end, r.modified)
			taken := Day(r.start / MillisPerDay)
			require.True(t, r.term.begin <= taken && taken <= r.term.end)
			require.True(t, r.rit >= 100 && r.rit <= 300)
			if r.at != school {
				moved++
			}
			terms[r.term]++
			m := means[[2]int{r.subject, r.grade}]
			if m == nil {
				m = &sum{}
				means[[2]int{r.subject, r.grade}] = m
			}
			m.n++
			m.rit += r.rit
		}
	}
	require.Positive(t, moved, "results follow the student")
	require.Less(t, moved, w.Results()/20)
	require.GreaterOrEqual(t, len(terms), 3*2)
	for subject := range subjects {
		for grade := 1; grade < 13; grade++ {
			younger, older := means[[2]int{subject, grade - 1}], means[[2]int{subject, grade}]
			if younger == nil || older == nil || younger.n < 100 || older.n < 100 || grade > 8 {
				continue
			}
			require.Greater(t, older.rit*younger.n, younger.rit*older.n, "%s grows from grade %d to %d", subjectNames[subject], grade-1, grade)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	for z, want := range map[int]int{-6000: 1, -1282: 10, -674: 25, 0: 50, 674: 75, 1282: 90, 6000: 99} {
		require.Equal(t, want, percentile(z), z)
	}
}

func TestSessionsFillTheYear(t *testing.T) {
	t.Parallel()
	w := NewWorld(Options{})
	for district := range w.districts {
		for year := 2020; year < 2030; year++ {
			for s := range seasons {
				this := w.session(district, year, s)
				require.Less(t, this.begin, this.end)
				next := w.session(district, year+int(s+1)/int(seasons), (s+1)%seasons)
				require.Equal(t, this.end+1, next.begin)
				require.Equal(t, year, w.yearOf(district, this.begin))
				require.Equal(t, year, w.yearOf(district, this.end))
			}
		}
	}
}

func TestWorldAtAnotherDay(t *testing.T) {
	t.Parallel()
	for month := range 12 {
		for _, dayOfMonth := range []int{1, 2, 3, 9} {
			asOf := time.Date(2031, time.Month(month+1), dayOfMonth, 15, 0, 0, 0, time.UTC)
			w := NewWorld(Options{AsOf: asOf, SchoolSizes: []int{60}})
			for i := range 60 {
				r, ok := w.testEvent(0, i)
				require.True(t, ok)
				require.LessOrEqual(t, r.modified, w.AsOf().UnixMilli())
			}
		}
	}
}
