package review_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/review"
)

func TestReasonTexts(t *testing.T) {
	t.Parallel()
	with := func(check, limit string, found ...review.Finding) review.Reason {
		r := review.New(check, limit, found)
		r.With, r.SnapshotDate = "r1", "2026-11-19"
		return r
	}
	results := review.Finding{Table: "test_results", District: "D 1", N: 370, Of: 1000}
	for want, r := range map[string]review.Reason{
		"no school could be read in students (access denied in 3 of 3 schools)": with(review.DatasetDenied, "",
			review.Finding{Table: "students", N: 3, Of: 3}),
		"no school could be read in student_details (1,200 calls, all denied or not found)": with(review.DatasetDenied, "",
			review.Finding{Table: "student_details", N: 1200, Of: 1200, Counted: review.Calls}),
		"no table has any rows": with(review.NoRows, ""),
		"1 school in the snapshot of 2026-11-19 is denied now: s1": with(review.NewlyDenied, "", review.Finding{School: "s1"}),
		"1 school in the snapshot of 2026-11-19 is denied now: s1; 1 row of students is missing because of that": with(review.NewlyDenied, "",
			review.Finding{Table: "students", N: 1, Of: 20}, review.Finding{School: "s1"}),
		"2 schools in the snapshot of 2026-11-19 are denied now: Elm, s2; 20 rows of students are missing because of that": with(review.NewlyDenied, "",
			review.Finding{Table: "students", N: 20, Of: 20}, review.Finding{School: "s1", Name: "Elm"}, review.Finding{School: "s2"}),
		"2 of 3 schools failed, more than --max-failed-schools 1": with(review.MaxFailedSchools, "1", review.Finding{N: 2, Of: 3}),
		"3 of 3 schools failed, more than --max-failed-schools 1; no school could be read in students": with(review.MaxFailedSchools, "1",
			review.Finding{N: 3, Of: 3}, review.Finding{Table: "students", N: 3, Of: 3, Counted: review.Schools}),
		"2 counts fell by more than --max-shrink 20% since the snapshot of 2026-11-19 (run r1): schools with rows in students from 4 to 1, " +
			"rows of students from 2,000 to 1,000": with(review.MaxShrink, "20%",
			review.Finding{Table: "students", N: 1000, Of: 2000}, review.Finding{Table: "students", N: 3, Of: 4, Counted: review.Schools}),
		"more test results are gone for no known reason since the snapshot of 2026-11-19 (run r1) than --max-removed 10% allows: " +
			`table test_results, district "D 1": 370 of 1,000`: with(review.MaxRemoved, "10%", results),
		"more rows have changed since the snapshot of 2026-11-19 (run r1) than --max-changed 75% allows: " +
			"table students, without a district: 80 of 100": with(review.MaxChanged, "75%", review.Finding{Table: "students", N: 80, Of: 100}),
		"more values are gone since the snapshot of 2026-11-19 (run r1) than --max-emptied 50% allows: " +
			"table schools, column name: 9 of 9; " +
			"district d: all 60 rows of students, test_results and academic_years; " +
			"table test_result_norms, district d: 55 of 60 records have lost all their rows": with(review.MaxEmptied, "50%",
			review.Finding{Table: "test_result_norms", District: "d", N: 55, Of: 60, Counted: review.Parents},
			review.Finding{Table: "students", District: "d", N: 60, Of: 60, Counted: review.Districts},
			review.Finding{Table: "schools", Column: "name", N: 9, Of: 9}),
		`all rows are gone: table test_results, district "D 1": 370 of 1,000`:                  with(review.AllRowsGone, "", results),
		`more than 10% of the rows are gone: table test_results, district "D 1": 370 of 1,000`: with(review.ManyRowsGone, "10%", results),
		"counts are lower than in run r1, published earlier for this date: successfully read schools from 4 to 1, rows of students from 90 to 50": with(
			review.LessThanReplaced, "", review.Finding{N: 3, Of: 4, Counted: review.Schools}, review.Finding{Table: "students", N: 40, Of: 90}),
		"2 districts no longer listed: a, b": with(review.DistrictsUnlisted, "", review.Finding{District: "b"}, review.Finding{District: "a"}),
		"1 school no longer listed: s":       with(review.SchoolsUnlisted, "", review.Finding{School: "s"}),
		"only 3 of 1,000 schools are compared, so the limits on changes cover less than half of the data: " +
			"the others are new, or were not read completely in one of the two runs": with(review.FewCompared, "", review.Finding{N: 3, Of: 1000}),
		"only 0 of 6 schools are compared, so the limits on changes cover less than half of the data: " +
			"the previous snapshot does not have students, test_results": with(review.FewCompared, "",
			review.Finding{Of: 6}, review.Finding{Table: "students"}, review.Finding{Table: "test_results"}),
		"check rit_order, table test_results: 1 result has a RIT score outside its own low and high (--strict-checks)": with(review.CheckRITOrder, "",
			review.Finding{Table: "test_results", N: 1}),
	} {
		require.Equal(t, want, r.String())
	}
}

// TestReasonListsTheLargest expects a reason to hold many findings, but its text to list only a few of them and to
// count the others.
func TestReasonListsTheLargest(t *testing.T) {
	t.Parallel()
	var found []review.Finding
	for i := range int64(150) {
		found = append(found, review.Finding{Table: "students", District: fmt.Sprint("d", i), N: 200 + i, Of: 1000})
	}
	r := review.New(review.ManyRowsGone, "10%", found)
	require.Len(t, r.Found, 100)
	require.Equal(t, 50, r.More)
	require.True(t, strings.HasPrefix(r.String(), "more than 10% of the rows are gone: table students, district d149: 349 of 1,000; "), r)
	require.True(t, strings.HasSuffix(r.String(), "district d146: 346 of 1,000; and 146 more"), r)
	require.True(t, r.Names("students"))
	require.False(t, r.Names("student"))

	less, had := r.Without(func(f review.Finding) bool { return f.District == "d149" })
	require.True(t, had)
	require.NotContains(t, less.String(), "d149")
	require.True(t, strings.HasSuffix(less.String(), "district d145: 345 of 1,000; and 146 more"), less)
	_, had = less.Without(func(f review.Finding) bool { return f.District == "d149" })
	require.False(t, had)
}

// TestReasonInJSON expects the fields, and the sentence for people.
func TestReasonInJSON(t *testing.T) {
	t.Parallel()
	reason := review.New(review.MaxRemoved, "10%", []review.Finding{{Table: "test_results", District: "d", N: 370, Of: 1000}})
	reason.With, reason.SnapshotDate = "r1", "2026-11-19"
	data, err := json.Marshal([]review.Reason{reason})
	require.NoError(t, err)
	require.JSONEq(t, `[{
		"check": "max_removed", "limit": "10%", "with": "r1", "snapshot_date": "2026-11-19",
		"found": [{"table": "test_results", "district": "d", "n": 370, "of": 1000}],
		"text": "more test results are gone for no known reason since the snapshot of 2026-11-19 (run r1) than --max-removed 10% allows: table test_results, district d: 370 of 1,000"
	}]`, string(data))
	var read []review.Reason
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, []review.Reason{reason}, read)
}

// TestLines expects a line for each district, by name, and one for each warning about something else.
func TestLines(t *testing.T) {
	t.Parallel()
	in := func(district, table string, n, of int64) review.Finding {
		return review.Finding{Table: table, District: district, Name: "District " + district, N: n, Of: of}
	}
	lines := review.Lines([]review.Reason{
		review.New(review.AllRowsGone, "", []review.Finding{in("a", "students", 40, 40), in("b", "students", 7, 7)}),
		review.New(review.AllRowsGone, "", []review.Finding{in("a", "school_classes", 5, 5)}),
		review.New(review.ManyRowsGone, "10%", []review.Finding{in("a", "test_results", 3000, 3100), in("a", "test_result_norms", 10, 90)}),
		review.New(review.MaxChanged, "75%", []review.Finding{in("a", "academic_years", 50, 55), {Table: "schools", N: 60, Of: 70}}),
		review.New(review.SchoolsUnlisted, "", []review.Finding{{School: "s", Name: "Elm"}}),
	})
	require.Equal(t, []string{
		"in District a, rows are gone from test_results (3,000 of 3,100), students (all 40), test_result_norms (10 of 90) and 1 more; " +
			"rows have changed in academic_years (50 of 55)",
		"in District b, rows are gone from students (all 7)",
		"more rows have changed since the snapshot of  (run ) than --max-changed 75% allows: table schools: 60 of 70",
		"1 school no longer listed: Elm",
	}, lines)
	var many []review.Finding
	for i := range int64(8) {
		many = append(many, in(strconv.FormatInt(i, 10), "students", 10+i, 100))
	}
	lines = review.Lines([]review.Reason{review.New(review.ManyRowsGone, "10%", many)})
	require.Len(t, lines, 6)
	require.Equal(t, "in District 7, rows are gone from students (17 of 100)", lines[0])
	require.Equal(t, "the same in 3 more districts", lines[5])
}
