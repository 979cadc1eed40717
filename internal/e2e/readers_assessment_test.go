package e2e

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/schemas/contract"
)

// assessmentColumns returns the columns of the vendor's file that are compared with the oracle.
func assessmentColumns() []string {
	columns := []string{
		"TermName", "SchoolName", "StudentID", "Subject",
		"TestRITScore", "TestStandardError", "TestPercentile", "TestDurationMinutes",
	}
	for goal := 1; goal <= goals; goal++ {
		columns = append(columns, fmt.Sprintf("Goal%dName", goal), fmt.Sprintf("Goal%dRitScore", goal))
	}
	return columns
}

// goals is the number of instructional areas in the vendor's file.
const goals = 8

// testAssessmentResults checks that the view has the columns of the vendor's file and one row for each of the oracle's
// test results, whatever the number of schools that have it.
func testAssessmentResults(t *testing.T, s *snapshot) {
	t.Helper()
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", s.dest, "--views", "sector"))
	lines, err := csv.NewReader(strings.NewReader(contract.AssessmentResultsCSV())).ReadAll()
	require.NoError(t, err)
	columns := d.describe("assessment_results")
	require.Len(t, columns, len(lines)-1)
	for i, column := range columns {
		require.Equal(t, lines[i+1][1], column[0])
	}
	require.EqualValues(t, len(columns), d.one("SELECT count(comment) FROM duckdb_columns() WHERE table_name = 'assessment_results'"))

	want := sorted(assessments(oracle.Rows(s.world, oracle.Options{EffectiveDate: s.day(t)})))
	got := sorted(d.query("SELECT " + strings.Join(assessmentColumns(), ", ") + " FROM assessment_results"))
	require.NotEmpty(t, want)
	if i := firstDifference(want, got); i >= 0 {
		require.Fail(t, "rows differ", "from row %d on (- expected, + read):\n%s", i, cmp.Diff(window(want, i), window(got, i)))
	}
	for i, name := range assessmentColumns()[:len(assessmentColumns())-2*3] { // simulated tests have at most five areas
		require.True(t, slices.ContainsFunc(got, func(row []any) bool { return row[i] != nil }), "%s is always null", name)
	}
}

// assessments returns these columns of the rows, made from the oracle.
func assessments(expected map[string][]oracle.Row) [][]any {
	type pair struct{ school, bid any }
	terms, schools, students := map[any]any{}, map[any]any{}, map[any]any{}
	for _, row := range expected["enrollment_sessions"] {
		terms[row["enrollment_session_bid"]] = row["description"]
	}
	for _, table := range []string{"district_schools", "schools"} { // the second table's names win
		for _, row := range expected[table] {
			schools[row["school_bid"]] = row["name"]
		}
	}
	for _, row := range expected["students"] {
		students[row["student_bid"]] = row["student_id"]
	}
	norms, areas := map[pair]oracle.Row{}, map[pair][]any{}
	for _, row := range expected["test_result_norms"] {
		of := pair{row["requested_school_bid"], row["test_result_bid"]}
		if known, ok := norms[of]; row["type"] == "achievement" &&
			(!ok || known["reference"].(string) < row["reference"].(string)) {
			norms[of] = row
		}
	}
	for _, row := range expected["test_result_instructional_areas"] { // sorted by ordinal
		of := pair{row["requested_school_bid"], row["test_result_bid"]}
		areas[of] = append(areas[of], row["instructional_area_name"], row["score"])
	}

	var rows [][]any
	seen := map[any]bool{}
	for _, r := range expected["test_results"] {
		of := pair{r["requested_school_bid"], r["test_result_bid"]}
		if seen[of.bid] {
			continue
		}
		seen[of.bid] = true
		var minutes any
		if duration, known := r["duration"].(int64); known {
			minutes = int64(math.Round(float64(duration) / 60_000))
		}
		row := []any{
			terms[r["term_bid"]], schools[r["school_bid"]], students[r["student_bid"]], subjectOf(r["subject_area"]),
			r["rit"], twoDecimals(r["standard_error"]), norms[of]["percentile"], minutes,
		}
		row = append(row, areas[of]...)
		rows = append(rows, append(row, make([]any, len(assessmentColumns())-len(row))...))
	}
	return rows
}

// subjectOf returns the subject in the vendor's file.
func subjectOf(subject any) any {
	if subject == "Reading" || subject == "Language Usage" {
		return "Language Arts"
	}
	return subject
}

func twoDecimals(number any) any {
	if n, known := number.(float64); known {
		return fmt.Sprintf("%.2f", n)
	}
	return nil
}

// sorted returns rows sorted by their values.
func sorted(rows [][]any) [][]any {
	byText := make(map[string][][]any, len(rows))
	for _, row := range rows {
		text := fmt.Sprintf("%q", row)
		byText[text] = append(byText[text], row)
	}
	result := make([][]any, 0, len(rows))
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		result = append(result, byText[text]...)
	}
	return result
}

// withEmptyTables exports a small snapshot, and returns it with a DuckDB that has its tables without rows.
func withEmptyTables(t *testing.T) (*snapshot, *duck) {
	t.Helper()
	s := runExport(t, export{args: []string{"--simulate-schools", "1", "--simulate-results", "10"}})
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(ddl(t))
	return s, d
}

// TestAssessmentResultsOfOddTables checks that every test result is one row, with nulls for unknown values.
func TestAssessmentResultsOfOddTables(t *testing.T) {
	t.Parallel()
	s, d := withEmptyTables(t)
	d.exec(`
		INSERT INTO schools (school_bid, name) VALUES ('here', 'Here'), (NULL, 'Without a bid'), ('', 'With an empty bid');
		INSERT INTO district_schools (requested_district_bid, school_bid, name) VALUES
			('d1', 'here', 'A name of the district'), ('d1', 'away', 'Away'), ('d2', 'away', 'Away'), ('d1', NULL, 'No bid');
		INSERT INTO students (requested_school_bid, student_bid, student_id) VALUES
			('here', 'ann', '007'), ('there', 'ann', '008'), ('here', NULL, '1'), ('here', NULL, '2'), ('here', '', '3'), ('here', '', '4');
		INSERT INTO academic_years (requested_perspective_bid, requested_school_bid, academic_year_bid, modified_date_time) VALUES
			('p1', 'here', 'y', '2026-01-01'), ('p2', 'here', 'y', '2026-03-01'), ('p3', 'here', 'y', NULL),
			('p1', 'here', '', NULL), ('p1', 'here', '', NULL);
		INSERT INTO enrollment_sessions
			(requested_perspective_bid, requested_school_bid, academic_year_bid, ordinal, enrollment_session_bid, description) VALUES
			('p1', 'here', 'y', 0, 'fall', 'Autumn'), ('p2', 'here', 'y', 0, 'fall', 'Fall'), ('p3', 'here', 'y', 0, 'fall', 'Fal'),
			('p1', 'here', '', 0, 'spring', 'Spring'), ('p1', 'here', NULL, 0, NULL, 'Nothing'), ('p1', 'here', NULL, 1, '', 'Nothing');
		INSERT INTO test_results
			(requested_school_bid, test_result_bid, student_bid, school_bid, term_bid, subject_area, rit, standard_error, duration) VALUES
			('here', 'a', 'ann', 'here', 'fall', 'all known', 201, 3.1, 2700000),
			('there', 'a', 'ann', 'away', 'spring', 'the same result at a second school', 201, 3.1, 30000),
			('here', 'b', 'bob', 'elsewhere', 'winter', 'nothing matches', NULL, NULL, -1),
			('here', 'c', NULL, NULL, NULL, 'no school: the one that lists it', NULL, NULL, 9223372036854775807),
			('here', NULL, NULL, '', NULL, 'no bid', NULL, NULL, NULL),
			('here', NULL, NULL, '', NULL, 'no bid', NULL, NULL, NULL),
			('here', '', '', '', '', 'empty bid', NULL, NULL, NULL),
			('here', '', '', '', '', 'empty bid', NULL, NULL, NULL);
		INSERT INTO test_result_norms (requested_school_bid, test_result_bid, ordinal, percentile, reference, type) VALUES
			('here', 'a', 0, 40, '2020', 'achievement'), ('here', 'a', 1, 50, '2025', 'achievement'),
			('here', 'a', 2, 60, '2030', 'growth'), ('here', 'a', 3, 70, NULL, 'achievement'), ('here', 'a', 4, 80, '2025', 'achievement'),
			('there', 'a', 0, 41, '2020', 'Achievement'), ('here', 'b', 0, 42, '2020', 'growth'),
			('here', 'c', 0, 43, '2020', 'achievement'), ('here', 'c', 1, NULL, '2025', 'achievement'),
			('here', NULL, 0, 44, '2020', 'achievement'), ('here', '', 0, 45, '2020', 'achievement'), ('here', '', 0, 46, '2020', 'achievement');
		INSERT INTO test_result_instructional_areas (requested_school_bid, test_result_bid, ordinal, instructional_area_name, score) VALUES
			('here', 'b', 2, 'third', 3), ('here', 'b', 0, 'first', 1.5), ('here', 'b', 1, NULL, NULL),
			('here', NULL, 0, 'whose', 0), ('here', '', 0, 'whose', 0), ('here', '', 0, 'whose', 0);
		INSERT INTO test_result_instructional_areas (requested_school_bid, test_result_bid, ordinal, instructional_area_name, score)
			SELECT 'here', 'a', n, 'area ' || n, 200 + n FROM range(9) AS t(n);`)
	d.exec(analysisOf(t, s, "sector"))

	row := func(known ...any) []any { return append(known, make([]any, len(assessmentColumns())-len(known))...) }
	require.Equal(t, sorted([][]any{
		row("Fall", "Here", "007", "all known", int64(201), "3.10", int64(50), int64(45),
			"area 0", 200.0, "area 1", 201.0, "area 2", 202.0, "area 3", 203.0,
			"area 4", 204.0, "area 5", 205.0, "area 6", 206.0, "area 7", 207.0),
		row(nil, nil, nil, "nothing matches", nil, nil, nil, int64(0), "first", 1.5, nil, nil, "third", 3.0),
		row(nil, "Here", nil, "no school: the one that lists it", nil, nil, nil, int64(153722867280913)),
		row(nil, nil, nil, "no bid"),
		row(nil, nil, nil, "no bid"),
		row(nil, nil, nil, "empty bid"),
		row(nil, nil, nil, "empty bid"),
	}), sorted(d.query("SELECT "+strings.Join(assessmentColumns(), ", ")+" FROM assessment_results")))
}

// TestExtremeNumbers checks that numbers too large for a column do not make a view fail: as text they have an exponent,
// and a number that is infinite, no number, or too large for its type is null.
func TestExtremeNumbers(t *testing.T) {
	t.Parallel()
	s, d := withEmptyTables(t)
	d.exec(`
		INSERT INTO enrollment_sessions
			(requested_perspective_bid, requested_school_bid, academic_year_bid, ordinal, enrollment_session_bid, description) VALUES
			('p', 'a', 'y', 0, 'fall', 'Fall 2025'), ('p', 'a', 'y', 1, 'spring', 'Spring 2025');
		INSERT INTO test_results (requested_school_bid, test_result_bid, student_bid, term_bid, subject_area, rit, standard_error, items_correct, items_shown)
			SELECT 'a', 'r' || row_number() OVER (), * FROM (VALUES
				('ann', 'fall', 'Reading', -2147483648, 0.125, 3, 8), ('ann', 'spring', 'Reading', 2147483647, 1e30, 2147483647, 1),
				('bob', 'fall', 'Reading', -7, '-inf', -3, 8), ('bob', 'spring', 'Reading', 2147483640, 'nan', 0, 0),
				('cy', 'fall', 'Reading', 2147483647, 1e15, 1, NULL), ('cy', 'spring', 'Reading', -1, -1e16, NULL, 1),
				('di', 'fall', 'Reading', 1, -0.001, 8, 8), ('di', 'spring', 'Reading', 2, 1.7976931348623157e308, 1, 3)) AS results;
		INSERT INTO test_result_instructional_areas (requested_school_bid, test_result_bid, ordinal, score_low, score_high) VALUES
			('a', 'r1', 0, 100, 100.5), ('a', 'r1', 1, -1.25e300, 1e20), ('a', 'r1', 2, 'inf', 200), ('a', 'r1', 3, 1e15, -100);`)
	d.exec(analysisOf(t, s, "sector"))
	require.Equal(t, [][]any{
		{"0.13", int64(38), nil},
		{"1E30", nil, nil},
		{nil, int64(-37), nil},
		{nil, nil, int64(math.MaxInt32)},
		{"1000000000000000.00", nil, nil},
		{"-1E16", nil, int64(math.MinInt32)},
		{"0.00", int64(100), nil},
		{"1.7976931348623157E308", int64(33), int64(1)},
	}, d.query("SELECT TestStandardError, PercentCorrect, FallToSpringObservedGrowth FROM assessment_results ORDER BY TestID"))
	require.Equal(t, [][]any{{"100-100.5", "-1.25E300-1E20", nil, "1000000000000000--100"}},
		d.query("SELECT Goal1Range, Goal2Range, Goal3Range, Goal4Range FROM assessment_results WHERE TestID = 'r1'"))
	require.Equal(t, [][]any{{"ann", nil}, {"bob", int64(math.MaxInt32)}, {"cy", int64(math.MinInt32)}, {"di", int64(1)}},
		d.query("SELECT student_bid, observed_growth FROM analysis_growth_spans ORDER BY 1"))
}
