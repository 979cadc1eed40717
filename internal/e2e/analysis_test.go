package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator/oracle"
)

// testAnalysis compares the views for analysts with the oracle.
func testAnalysis(t *testing.T, s *snapshot) {
	t.Helper()
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec("SET TimeZone = 'UTC'")
	d.exec(execute(t, growthExport, "sql", "--dest", s.dest, "--views", "analysis"))
	rows := oracle.Rows(s.world, oracle.Options{EffectiveDate: s.day(t)})

	testDeclaredColumns(t, d, 17)
	testDescribedColumns(t, d)
	for view, of := range map[string]struct {
		table string
		key   []string
	}{
		"analysis_schools":  {"district_schools", []string{"school_bid"}}, // which are all
		"analysis_terms":    {"enrollment_sessions", []string{"enrollment_session_bid"}},
		"analysis_students": {"students", []string{"student_bid"}},
		"analysis_classes":  {"school_classes", []string{"school_class_bid"}},
		"analysis_rosters":  {"school_class_students", []string{"school_class_bid", "student_bid"}},
		"analysis_results":  {"test_results", []string{"test_result_bid"}},
	} {
		want := make(map[string]bool)
		for _, row := range rows[of.table] {
			key := ""
			for _, column := range of.key {
				if row[column] == nil {
					key = ""
					break
				}
				key += row[column].(string) + "\n"
			}
			if key != "" {
				want[key] = true
			}
		}
		require.NotEmpty(t, want, view)
		require.EqualValues(t, len(want), d.one("SELECT count(*) FROM "+view), view)
		columns := strings.ReplaceAll(strings.Join(of.key, " || chr(10) || "), "enrollment_session_bid", "term_bid")
		for _, row := range d.query("SELECT " + columns + " || chr(10) FROM " + view) {
			require.True(t, want[row[0].(string)], "%s: %s", view, row[0])
		}
	}
	testAnalysisResults(t, d, rows)
}

// testAnalysisResults compares school, term and percentile of each result with the oracle.
func testAnalysisResults(t *testing.T, d *duck, rows map[string][]oracle.Row) {
	t.Helper()
	terms, schools, norms := map[any]any{}, map[any]any{}, map[any]oracle.Row{}
	for _, row := range rows["enrollment_sessions"] {
		terms[row["enrollment_session_bid"]] = row["description"]
	}
	for _, table := range []string{"district_schools", "schools"} { // the second table's names win
		for _, row := range rows[table] {
			schools[row["school_bid"]] = row["name"]
		}
	}
	for _, row := range rows["test_result_norms"] {
		known, ok := norms[row["test_result_bid"]]
		if row["type"] == "achievement" && (!ok || known["reference"].(string) < row["reference"].(string)) {
			norms[row["test_result_bid"]] = row
		}
	}
	want := [][]any{}
	for _, r := range rows["test_results"] {
		norm := norms[r["test_result_bid"]]
		want = append(want, []any{r["test_result_bid"], r["rit"], schools[r["school_bid"]], terms[r["term_bid"]], norm["percentile"], norm["reference"]})
	}
	require.Equal(t, sorted(want), sorted(d.query(
		"SELECT test_result_bid, rit, school_name, term_name, achievement_percentile, achievement_reference FROM analysis_results")))
	require.Zero(t, d.one("SELECT count(*) FROM analysis_results WHERE (grade IS NULL) <> (grade_number IS NULL)"))
}

// testDeclaredColumns checks that the views have the columns that analysis_columns says they have.
func testDeclaredColumns(t *testing.T, d *duck, views int) {
	t.Helper()
	declared := make(map[string][][]any)
	for _, row := range d.query(`
		SELECT table_name, column_name, CASE type
			WHEN 'string' THEN 'VARCHAR' WHEN 'json' THEN 'VARCHAR' WHEN 'int32' THEN 'INTEGER' WHEN 'int64' THEN 'BIGINT'
			WHEN 'timestamp' THEN 'TIMESTAMP WITH TIME ZONE' ELSE upper(type) END
		FROM analysis_columns WHERE table_name LIKE 'analysis_%'`) {
		declared[row[0].(string)] = append(declared[row[0].(string)], row[1:])
	}
	require.Len(t, declared, views)
	for view, columns := range declared {
		require.Equal(t, columns, d.describe(view), view)
	}
	for _, row := range d.query("SELECT table_name, column_name FROM analysis_columns WHERE table_name NOT LIKE 'analysis_%'") {
		require.EqualValues(t, 1, d.one("SELECT count(*) FROM duckdb_columns() WHERE table_name = ? AND column_name = ?", row...), row)
	}
}

// testDescribedColumns checks that every column of every view has a comment and is in analysis_columns.
func testDescribedColumns(t *testing.T, d *duck) {
	t.Helper()
	columns := " FROM duckdb_columns() AS c JOIN duckdb_views() AS v ON v.schema_name = c.schema_name AND v.view_name = c.table_name" +
		" WHERE NOT v.internal"
	require.Greater(t, d.one("SELECT count(*)"+columns), int64(100))
	require.Empty(t, d.query("SELECT c.table_name, c.column_name"+columns+" AND (c.comment IS NULL OR"+
		" NOT EXISTS (SELECT 1 FROM analysis_columns AS a"+
		" WHERE a.table_name = c.table_name AND a.column_name = c.column_name))"))
}

// analysisOf returns the statements of the views for analysts, or of the sector, over tables of these names.
func analysisOf(t *testing.T, s *snapshot, views string) string {
	t.Helper()
	_, statements, found := strings.Cut(execute(t, growthExport, "sql", "--dest", s.dest, "--views", views), "\n-- Views for analysts")
	require.True(t, found)
	return "-- " + statements
}

// TestAnalysisOfOddTables checks the rows and values of the views if tables repeat rows, lack identifiers or have odd
// values.
func TestAnalysisOfOddTables(t *testing.T) {
	t.Parallel()
	s, d := withEmptyTables(t)
	d.exec(`
		INSERT INTO districts (district_bid, district_name) VALUES ('d', 'District'), ('d', NULL), ('', 'Nowhere');
		INSERT INTO schools (school_bid, name, district_bid) VALUES ('a', 'A', 'd'), (NULL, 'No bid', 'd'), ('', 'Empty', 'd'), ('n', NULL, 'x');
		INSERT INTO district_schools (requested_district_bid, school_bid, name) VALUES ('d', 'a', 'Other name'), ('d', 'b', 'B'), ('d', 'n', 'N');
		INSERT INTO students (requested_school_bid, student_bid, student_id, first_name) VALUES
			('a', 'ann', '1', 'Ann'), ('b', 'ann', '1', 'Ann'), ('a', 'bob', '2', NULL), ('a', NULL, '3', 'Cy'), ('a', '', '4', 'Di');
		INSERT INTO student_school_associations
			(requested_perspective_bid, requested_school_bid, student_school_association_bid, student_bid, grade, begin_date, first_name) VALUES
			('d', 'a', '1', 'ann', '2', '2026-01-01', NULL), ('d', 'b', '2', 'ann', '03', '2026-08-01', NULL),
			('p', 'b', '2', 'ann', '03', '2026-08-01', NULL), ('d', 'a', '3', 'bob', 'X', NULL, 'Bob'), ('d', 'c', '4', 'eve', 'K', NULL, 'Eve');
		INSERT INTO school_classes (requested_perspective_bid, requested_school_bid, school_class_bid, class_name, modified_date_time) VALUES
			('d', 'a', 'x', 'New', '2026-02-01'), ('p', 'a', 'x', 'Old', '2026-01-01'), ('d', 'a', 'y', NULL, NULL), ('d', 'a', NULL, 'No bid', NULL);
		INSERT INTO school_class_students (requested_perspective_bid, requested_school_bid, school_class_bid, ordinal, student_bid, _extra) VALUES
			('d', 'a', 'x', 0, 'ann', NULL), ('p', 'a', 'x', 0, 'ann', NULL), ('d', 'a', 'x', 1, 'zoe', '{"grade":"2","x":{"y":1}}'),
			('d', 'a', 'x', 2, NULL, '{"_value":7}'), ('d', 'a', 'x', 3, '', '{"_value":[]}'), ('d', 'a', NULL, 0, 'ann', NULL),
			('d', 'a', 'x', 4, NULL, '{"_value":"bob"}');
		INSERT INTO test_results (requested_school_bid, test_result_bid, school_bid, grade, rit) VALUES
			('b', 'r', 'a', 'K', 150), ('a', 'r', 'a', 'K', 150), ('b', 's', 'c', 'PK', 140), ('c', 's', 'd', ' 12 ', 141),
			('b', 't', NULL, '13', 142), ('b', NULL, 'a', 'k', 143), ('b', NULL, 'a', NULL, 144), ('b', '', 'a', '', 145);
		INSERT INTO test_result_norms (requested_school_bid, test_result_bid, ordinal, percentile, reference, type) VALUES
			('a', 'r', 0, 40, '2020', 'achievement'), ('a', 'r', 1, 50, '2025', 'Achievement'), ('a', 'r', 2, 60, '2025', 'growth'),
			('b', 'r', 0, 70, '2030', 'achievement'), ('b', 's', 0, NULL, '2025', 'achievement'), ('b', 's', 1, 80, '2020', 'achievement'),
			('b', NULL, 0, 90, '2025', 'achievement');`)
	d.exec(analysisOf(t, s, "analysis"))
	testDeclaredColumns(t, d, 17)
	for query, want := range map[string][][]any{
		"SELECT school_bid, school_name, district_bid, district_name FROM analysis_schools ORDER BY 1": {
			{"a", "A", "d", "District"}, {"b", "B", "d", "District"}, {"n", "N", "d", "District"},
		},
		"SELECT student_bid, student_id, first_name, grade, grade_number, school_name, schools FROM analysis_students ORDER BY 1": {
			{"ann", "1", "Ann", "03", int64(3), "B", int64(2)}, {"bob", "2", "Bob", "X", nil, "A", int64(1)},
		},
		"SELECT school_class_bid, class_name, students, educators, perspectives FROM analysis_classes ORDER BY 1": {
			{"x", "New", int64(3), int64(0), int64(2)}, {"y", nil, int64(0), int64(0), int64(1)},
		},
		"SELECT school_class_bid, student_bid, class_name, first_name, perspectives FROM analysis_rosters ORDER BY 2": {
			{"x", "ann", "New", "Ann", int64(2)}, {"x", "bob", "New", "Bob", int64(1)}, {"x", "zoe", "New", nil, int64(1)},
		},
		"SELECT rit, requested_school_bid, school_name, grade_number, achievement_percentile, achievement_reference, growth_percentile" +
			" FROM analysis_results ORDER BY 1": {
			{int64(140), "b", nil, int64(-1), nil, "2025", nil},
			{int64(142), "b", "B", nil, nil, nil, nil},
			{int64(143), "b", "A", int64(0), nil, nil, nil},
			{int64(144), "b", "A", nil, nil, nil, nil},
			{int64(145), "b", "A", nil, nil, nil, nil},
			{int64(150), "a", "A", int64(0), int64(50), "2025", int64(60)},
		},
		"SELECT * FROM analysis_extra ORDER BY ALL": {
			{"school_class_students", "_value", int64(3)}, {"school_class_students", "grade", int64(1)}, {"school_class_students", "x", int64(1)},
		},
	} {
		require.Equal(t, want, d.query(query), query)
	}
}
