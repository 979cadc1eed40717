package history_test

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

type record = snapshottest.Record

// micros returns a day as stored in columns of times, in microseconds since 1970.
func micros(t *testing.T, day string) string {
	t.Helper()
	at, err := time.Parse(time.DateOnly, day)
	require.NoError(t, err)
	return strconv.FormatInt(at.UnixMicro(), 10)
}

// TestDiffExplainsWhatIsGone compares two nights in which every reason occurs once.
func TestDiffExplainsWhatIsGone(t *testing.T) {
	t.Parallel()
	const school, other = snapshottest.Gone, snapshottest.Stays
	result := func(at, bid, student, subject string, more record) record {
		r := record{"requested_school_bid": at, "test_result_bid": bid, "student_bid": student, "subject_area": subject}
		maps.Copy(r, more)
		return r
	}
	student := func(at, bid string) record { return record{"requested_school_bid": at, "student_bid": bid} }
	norm := func(bid, percentile string) record {
		return record{"requested_school_bid": school, "test_result_bid": bid, "percentile": percentile}
	}
	recent, old := micros(t, "2025-11-20"), micros(t, "2025-11-19")
	first := map[string][]record{
		"districts": {{"district_bid": "d"}},
		"schools":   {{"school_bid": school, "name": "before"}},
		"students":  {student(school, "ann"), student(school, "bob"), student(school, "cy"), student(school, "leaver"), student(other, "dee")},
		"test_results": {
			result(school, "kept", "ann", "math", record{"rit": "200", "modified_date_time": "1"}),
			result(school, "moved", "ann", "reading", nil),
			result(school, "superseded", "bob", "math", nil),
			result(school, "superseded elsewhere", "bob", "reading", nil),
			result(school, "old", "cy", "math", record{"administration_end_date_time": old, "administration_start_date_time": recent}),
			result(school, "old start", "cy", "science", record{"administration_start_date_time": old}),
			result(school, "left", "leaver", "math", record{"administration_end_date_time": recent}),
			result(school, "vanished", "cy", "reading", record{"administration_end_date_time": recent, "administration_start_date_time": old}),
			{"requested_school_bid": school, "student_bid": "ann"},
			{"requested_school_bid": school, "student_bid": "cy", "subject_area": "language"},
		},
		"test_result_norms": {
			norm("kept", "50"), norm("kept", "60"), norm("vanished", "1"), norm("vanished", "2"), norm("moved", "3"),
			{"requested_school_bid": school, "percentile": "9"},
		},
	}
	second := map[string][]record{
		"districts": {{"district_bid": "d"}, {"district_bid": "new"}},
		"schools":   {{"school_bid": school, "name": "after"}},
		"students":  {student(school, "ann"), student(school, "bob"), student(school, "cy"), student(other, "dee")},
		"test_results": {
			result(school, "kept", "ann", "math", record{"rit": "201", "modified_date_time": "2"}),
			result(other, "moved", "ann", "reading", nil),
			result(school, "newer", "bob", "math", nil),
			result(other, "newer elsewhere", "bob", "reading", nil),
			{"requested_school_bid": school, "student_bid": "ann"},
		},
		// The norms of the kept result are in another order, and one has changed.
		"test_result_norms": {norm("kept", "61"), norm("kept", "50")},
	}
	store := snapshottest.NewDir(t, t.TempDir())
	publish := func(run, date string, world map[string][]record, edit ...func(*snapshot.Plan)) *snapshot.Manifest {
		snapshottest.StageWorld(t, store, run, world, append(edit, snapshottest.OnDate(date))...)
		return snapshottest.PublishRun(t, store, run)
	}
	from := publish("first", "2026-11-19", first)
	to := publish("second", "2026-11-20", second)
	got, err := history.Diff(t.Context(), snapshot.At(store), from, to)
	require.NoError(t, err)

	describe := func(table string) string { return history.Describe(table, got.Tables[table]) }
	require.Equal(t, "1 new row, 0 changed, 0 gone", describe("districts"))
	require.Equal(t, "0 new rows, 1 changed (name 1), 0 gone", describe("schools"))
	require.Equal(t, "0 new rows, 0 changed, 1 gone", describe("students"))
	require.Equal(t, "3 new results, 1 changed (rit 1), "+
		"8 gone: 2 aged out, 2 superseded, 2 unexplained, 1 left roster, 1 moved", describe("test_results"))
	require.Equal(t, "1 new row, 0 changed, 5 gone: 2 unexplained, 1 list changed, 1 moved, 1 removed",
		describe("test_result_norms"))
	require.EqualValues(t, 2, got.SchoolsCompared)
	require.Equal(t, "first", got.With)

	// The other school is not in the third list, so nothing is known about its rows. Its district is still compared.
	delete(first, "students")
	third := publish("third", "2026-11-21", first, func(p *snapshot.Plan) {
		p.Schools, p.Buckets[0].End = p.Schools[:1], 1
	})
	got, err = history.Diff(t.Context(), snapshot.At(store), third, to)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1}, []int64{got.SchoolsCompared, got.SchoolsNotCompared})
	require.NotContains(t, got.Units, history.Unit{School: other})

	// A dataset that only one of the snapshots holds is not compared, no matter which snapshot is the earlier one. The
	// schools count as compared, because of the other datasets.
	results := publish("results", "2026-11-22", map[string][]record{"test_results": second["test_results"]},
		snapshottest.Datasets("test_results"))
	for _, pair := range [][2]*snapshot.Manifest{{to, results}, {results, to}} {
		got, err = history.Diff(t.Context(), snapshot.At(store), pair[0], pair[1])
		require.NoError(t, err)
		require.Equal(t, []int64{2, 0}, []int64{got.SchoolsCompared, got.SchoolsNotCompared})
	}

	same, err := history.Diff(t.Context(), snapshot.At(store), to, to)
	require.NoError(t, err)
	for table, counts := range same.Tables {
		require.Equal(t, to.Tables[table].Rows, counts.Same, table)
		require.Zero(t, counts.Added+counts.Changed+counts.Removed, table)
	}
}
