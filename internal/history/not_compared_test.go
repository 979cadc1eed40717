package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestDiffListsSchoolsNotCompared compares two snapshots with schools that are not compared, one for each reason.
func TestDiffListsSchoolsNotCompared(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	publish := func(run, date string, fate snapshottest.StatusOf, schools ...string) *snapshot.Manifest {
		plan := snapshottest.NewPlan(run, snapshottest.Datasets("students"), snapshottest.OnDate(date), func(p *snapshot.Plan) {
			p.Schools, p.Buckets = nil, []snapshot.Bucket{{End: len(schools)}}
			for _, bid := range schools {
				p.Schools = append(p.Schools, snapshot.School{Bid: bid, Name: "School " + bid})
			}
		})
		snapshottest.StageRun(t, store, plan, fate)
		return snapshottest.PublishRun(t, store, run)
	}
	from := publish("first", "2026-11-19", snapshottest.StatusOf{"s4": snapshot.StatusDenied}, "s1", "s2", "s3", "s4", "s5", "s6")
	to := publish("second", "2026-11-20", snapshottest.StatusOf{"s2": snapshot.StatusDenied, "s3": snapshot.StatusFailed}, "s1", "s2", "s3", "s4", "s5", "s7")
	describe := func(from, to *snapshot.Manifest) (lines []string) {
		got, err := history.Diff(t.Context(), snapshot.At(store), from, to)
		require.NoError(t, err)
		require.Len(t, got.NotCompared, int(got.SchoolsNotCompared))
		for _, school := range got.NotCompared {
			require.False(t, school.Part)
			lines = append(lines, school.String())
		}
		return lines
	}
	require.Equal(t, []string{
		"School s2 (s2), denied; before: 1 row of students",
		"School s3 (s3), failed; before: 1 row of students",
		"School s4 (s4), denied in the earlier snapshot; now: 1 row of students",
		"School s6 (s6), no longer listed; before: 1 row of students",
		"School s7 (s7), new; now: 1 row of students",
	}, describe(from, to))
	require.Equal(t, []string{"School s4 (s4), denied"}, describe(from, from))
}

// TestNotComparedText describes schools that are compared in part, or were not selected.
func TestNotComparedText(t *testing.T) {
	t.Parallel()
	part := history.NotCompared{
		School: "17", Name: "Lincoln", Reason: "failed_before", Part: true, Datasets: []string{"students", "test_results"},
		RowsBefore: map[string]int64{"students": 3}, RowsNow: map[string]int64{"students": 1000, "test_results": 2000},
	}
	require.Equal(t, "Lincoln (17), failed in the earlier snapshot: only students, test_results; before: 3 rows of students; "+
		"now: 2,000 rows of test_results, 1,000 rows of students", part.String())
	require.Equal(t, "17, not selected in one of the two runs", (&history.NotCompared{School: "17", Reason: "not_selected"}).String())
	require.Equal(t, "17, not recorded in one of the two runs, as after a purge", (&history.NotCompared{School: "17", Reason: "not_recorded"}).String())
}
