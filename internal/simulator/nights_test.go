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

// TestNightsTellOneStory reads the service on many nights: a result keeps what it says until it is corrected, and every
// kind of change comes up.
func TestNightsTellOneStory(t *testing.T) {
	t.Parallel()
	type key struct{ student, subject string }
	results := map[string]oracle.Row{}
	standing := map[key]string{}
	began := map[string]int64{} // of results seen
	schools := map[int]bool{}
	var appeared, corrected, superseded, moved, gone, back int
	at := map[string]string{}
	left := map[string]bool{}
	for night := range 26 {
		day := time.Date(2026, time.August, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 16*night)
		world := simulator.NewWorld(simulator.Options{Seed: 3, Schools: 26, SchoolSizes: []int{40}, Results: 700, AsOf: day})
		schools[len(world.Schools())] = true
		expected := oracle.Expect(world, oracle.Options{Datasets: []string{"students", "test_results"}})
		require.Len(t, schoolRows(expected.Rows["test_results"], world.Schools()[0].Bid), 40, "a steady school")
		roster := map[string]string{}
		for _, row := range expected.Rows["students"] {
			if bid, ok := row["student_bid"].(string); ok {
				require.Empty(t, roster[bid], "a student is at one school")
				roster[bid], _ = row["requested_school_bid"].(string)
			}
		}
		for bid, school := range roster {
			switch before := at[bid]; {
			case before == "":
			case before != school:
				moved++
			}
			if left[bid] {
				back++
				delete(left, bid)
			}
		}
		for bid := range at {
			if roster[bid] == "" && !left[bid] {
				left[bid] = true
				gone++
			}
		}
		maps.Copy(at, roster)
		now := map[key]string{}
		for _, row := range expected.Rows["test_results"] {
			bid, _ := row["test_result_bid"].(string)
			student, _ := row["student_bid"].(string)
			subject, _ := row["subject_area"].(string)
			require.Empty(t, now[key{student, subject}], "one result per student and subject")
			now[key{student, subject}] = bid
			start, _ := row["administration_start_date_time"].(int64)
			if before, known := results[bid]; !known {
				appeared++
				require.Less(t, start, day.UnixMicro())
				if old, had := standing[key{student, subject}]; had && old != bid {
					superseded++
					require.Greater(t, start, began[old], "a newer result supersedes an older one")
				}
			} else if before["rit"] != row["rit"] {
				corrected++
				require.NotEqual(t, before["modified_date_time"], row["modified_date_time"])
			} else {
				for _, column := range []string{"term_bid", "grade", "test_key", "school_bid", "modified_date_time", "standard_error"} {
					require.Equal(t, before[column], row[column], "%s of %s on %s", column, bid, day)
				}
			}
			results[bid], began[bid] = row, start
		}
		standing = now
	}
	require.Len(t, schools, 3, "schools are added")
	for what, n := range map[string]int{
		"appeared": appeared, "corrected": corrected, "superseded": superseded, "moved": moved, "gone": gone, "back": back,
	} {
		require.Positive(t, n, what)
	}
}

func schoolRows(rows []oracle.Row, bid string) []oracle.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(row oracle.Row) bool { return row["requested_school_bid"] != bid })
}
