package simulator_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

// TestNightsTellOneStory reads the service on many nights: a result keeps its values until it is corrected, and every
// kind of change occurs.
func TestNightsTellOneStory(t *testing.T) {
	t.Parallel()
	service := simulator.Options{Seed: 3, Schools: 26, SchoolSizes: []int{40}, Results: 700}
	export := oracle.Options{Datasets: []string{"schools", "students", "test_results"}}
	h := oracle.NewHistory()
	listed, because := map[int]bool{}, map[string]int{}
	for night := range 34 {
		service.AsOf = time.Date(2026, time.August, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 12*night)
		world := simulator.NewWorld(service)
		listed[world.Listed()] = true
		h.Fold(world, export)
		at := map[string]bool{}
		type subject struct{ student, subject any }
		subjects, steady := map[subject]bool{}, 0
		read := map[any]bool{} // schools
		for i := range world.Listed() {
			read[world.SchoolBid(i)] = !world.Denied(i)
		}
		for _, v := range h.Current() {
			row := v.Row
			switch bid, _ := row["student_bid"].(string); {
			case !read[row["requested_school_bid"]]: // It may be older.
			case v.Table == "students" && bid != "":
				require.False(t, at[bid], "a student is at one school")
				at[bid] = true
			case v.Table == "test_results":
				key := subject{row["student_bid"], row["subject_area"]}
				require.False(t, subjects[key], "one result per student and subject")
				subjects[key] = true
				if row["requested_school_bid"] == world.SchoolBid(0) {
					steady++
				}
			}
		}
		require.Equal(t, 40, steady, "a steady school")
	}
	require.Greater(t, len(listed), 2, "schools are added")
	corrections(t, h)
	statuses := map[string]int{}
	for _, c := range h.Coverage {
		statuses[c.Status]++
	}
	require.Positive(t, statuses["denied"])
	for _, v := range h.Ended {
		if v.Table == "test_results" {
			because[v.Because]++
		}
	}
	for _, reason := range []string{oracle.Changed, oracle.Moved, oracle.Superseded, oracle.AgedOut, oracle.LeftRoster, oracle.Unexplained} {
		require.Positive(t, because[reason], reason)
	}
	require.Less(t, because[oracle.Unexplained], because[oracle.Superseded]/20)
	returned := map[any]int{}
	for _, v := range slices.Concat(h.Ended, h.Current()) {
		if v.Table == "students" {
			returned[v.Row["student_bid"]]++
		}
	}
	require.Greater(t, len(slices.DeleteFunc(slices.Collect(maps.Values(returned)), func(n int) bool { return n < 2 })), 3, "students move and return")
	pairs := h.GrowthPairs()
	sum := int64(0)
	for _, pair := range pairs {
		from, _ := pair.From["rit"].(int64)
		to, _ := pair.To["rit"].(int64)
		sum += to - from
	}
	require.Greater(t, sum, 2*int64(len(pairs)), "students grow")
}

// corrections checks that a later version of a result differs only in its score and in values that follow from the
// score.
func corrections(t *testing.T, h *oracle.History) {
	t.Helper()
	versions := map[any]*oracle.Version{}
	for _, v := range slices.Concat(h.Ended, h.Current()) {
		if v.Table != "test_results" {
			continue
		}
		bid := v.Row["test_result_bid"]
		if before := versions[bid]; before != nil && before.Because == oracle.Changed {
			require.Equal(t, v.From, before.To)
			require.NotEqual(t, before.Row["rit"], v.Row["rit"])
			require.Greater(t, v.Row["modified_date_time"], before.Row["modified_date_time"])
			for _, column := range []string{"student_bid", "term_bid", "grade", "test_key", "school_bid", "standard_error", "items_shown", "duration"} {
				require.Equal(t, before.Row[column], v.Row[column], column)
			}
		}
		versions[bid] = v
	}
}
