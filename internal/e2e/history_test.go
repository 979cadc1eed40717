package e2e

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

// The days of the handmade history, and valid_to of versions that have not ended.
const (
	day1  = "2026-09-01"
	day2  = "2026-09-02"
	day3  = "2026-09-03"
	day4  = "2026-09-04"
	never = "9999-12-31"
)

// version is a row of a history: values by column.
type version map[string]any

// of returns a copy of the version with more values.
func (v version) of(from, to, because string, more ...any) version {
	other := version{"valid_from": from, "valid_to": to, "ended_because": nil}
	maps.Copy(other, v)
	if because != "" {
		other["ended_because"] = because
	}
	for i := 0; i < len(more); i += 2 {
		other[more[i].(string)] = more[i+1]
	}
	return other
}

func result(school string, bid, student, term any, start string, rit any) version {
	v := version{
		"requested_school_bid": school, "test_result_bid": bid, "student_bid": student, "term_bid": term,
		"subject_area": "Mathematics", "rit": rit, "administration_start_date_time": nil,
	}
	if start != "" {
		v["administration_start_date_time"] = start + " 10:00:00+00"
	}
	return v
}

// handmadeVersions returns a history with everything that a fold can produce.
func handmadeVersions() map[string][]version {
	twice := result("s1", "twice", "p1", "fall", "2026-08-20", 200)
	back := result("s1", "back", "p3", "fall", "2026-08-20", 190)
	moved := result("s1", "moved", "p7", "fall", "2026-08-20", 210)
	gone := result("s1", "gone", "p8", "fall", "2025-09-04", 180)
	both := result("s1", "both", "p9", "fall", "2026-08-20", 170)
	norm := version{"requested_school_bid": "s1", "test_result_bid": "twice", "ordinal": 0, "percentile": 40}
	class := version{
		"requested_perspective_bid": "d", "requested_school_bid": "s1", "requested_student_bid": "p1", "school_class_bid": "c",
	}
	student := version{"requested_school_bid": "s1", "student_bid": "p1", "student_id": "17", "first_name": "Ann", "last_name": "Lee"}
	covered := version{"dataset": "students", "requested_school_bid": "s1", "status": "ok"}
	return map[string][]version{
		"test_results": {
			twice.of(day1, day2, "changed"), twice.of(day2, day3, "changed", "rit", 201), twice.of(day3, never, "", "rit", 202),
			result("s1", "winter", "p1", "winter", "2026-12-01", 209).of(day3, never, ""),
			result("s1", "superseded", "p2", "fall", "2026-08-20", 195).of(day1, day3, "superseded"),
			result("s1", "supersedes", "p2", "winter", "2026-12-01", 193).of(day3, never, ""),
			back.of(day1, day2, "unexplained"), back.of(day3, never, ""),
			moved.of(day1, day2, "moved"), moved.of(day2, never, "", "requested_school_bid", "s2"),
			gone.of(day1, day2, "unexplained"), gone.of(day3, day4, "aged_out", "rit", 181),
			result("s1", "next is purged", "p13", "fall", "2026-08-20", 200).of(day1, day2, "changed"),
			both.of(day1, never, ""), both.of(day1, never, "", "requested_school_bid", "s2"),
			// Equal start times are ordered by bid.
			result("s1", "equal-b", "p4", "winter", "2026-08-20", 205).of(day1, never, ""),
			result("s1", "equal-a", "p4", "fall", "2026-08-20", 200).of(day1, never, ""),
			// The growth between odd scores does not fit an INTEGER.
			result("s1", "least", "p12", "fall", "2026-08-20", math.MinInt32).of(day1, never, ""),
			result("s1", "greatest", "p12", "winter", "2026-12-01", math.MaxInt32).of(day1, never, ""),
			// Neighbours of the same term are not a pair.
			result("s1", "one", "p5", "fall", "2026-08-20", 200).of(day1, day2, "superseded"),
			result("s1", "two", "p5", "fall", "2026-08-27", 207).of(day2, day3, "superseded"),
			result("s1", "three", "p5", "winter", "2026-12-01", 211).of(day3, never, ""),
			result("s1", "alone", "p6", "fall", "2026-08-20", 200).of(day1, never, ""),
			// Unknown values.
			result("s1", "no term", "p10", nil, "2026-08-20", 200).of(day1, never, ""),
			result("s1", "no term either", "p10", nil, "2026-08-21", 201).of(day1, never, ""),
			result("s1", "empty term", "p10", "", "2026-08-22", 202).of(day1, never, ""),
			result("s1", "no rit", "p10", "fall", "2026-12-01", nil).of(day1, never, ""),
			result("s1", "no start", "p10", "winter", "", 200).of(day1, never, ""),
			result("s1", "no student", nil, "fall", "2026-08-20", 200).of(day1, never, ""),
			result("s1", "no student either", nil, "winter", "2026-12-01", 200).of(day1, never, ""),
			result("s1", "empty student", "", "fall", "2026-08-20", 200).of(day1, never, ""),
			result("s1", "empty student too", "", "winter", "2026-12-01", 200).of(day1, never, ""),
			result("s1", nil, "p11", "fall", "2026-08-20", 200).of(day1, day2, "unexplained"),
			result("s1", nil, "p11", "fall", "2026-08-20", 201).of(day2, never, ""),
			result("s1", "", "p11", "winter", "2026-12-01", 200).of(day1, never, ""),
		},
		"test_result_norms": {
			norm.of(day1, day2, "changed"), norm.of(day2, never, "", "percentile", 41),
			norm.of(day1, never, "", "ordinal", 1), norm.of(day1, day3, "removed", "test_result_bid", nil),
		},
		// The specification does not show these records, so several may have the same key.
		"student_school_classes": {
			class.of(day1, day2, "changed", "class_name", "A"), class.of(day1, day2, "changed", "class_name", "B"),
			class.of(day1, day2, "removed", "class_name", "C"), class.of(day1, never, "", "class_name", "D"),
			class.of(day2, never, "", "class_name", "E"), class.of(day2, never, "", "class_name", "F"),
		},
		"districts": {
			version{"district_bid": "d", "district_name": "Old"}.of(day1, day4, "changed"),
			version{"district_bid": "d", "district_name": "New"}.of(day4, never, ""),
		},
		"students": {
			student.of(day1, day2, "changed"), student.of(day2, day3, "removed", "last_name", "Lee-Park"),
			version{"requested_school_bid": "s2", "student_bid": "p2", "last_name": "Ito"}.of(day1, never, ""),
		},
		"school_class_educators": nil, // no file yet
		"academic_years": { // nothing is left
			version{"requested_perspective_bid": "d", "requested_school_bid": "s1", "academic_year_bid": "y"}.of(day1, day2, "removed"),
		},
		"coverage": {
			covered.of(day1, day2, "changed"), covered.of(day2, never, "", "status", "failed"),
			covered.of(day1, never, "", "dataset", "test_results"),
		},
	}
}

// writeHistory lays out a history at a destination.
func writeHistory(t *testing.T, dest string, versions map[string][]version) {
	t.Helper()
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec("SET TimeZone = 'UTC'")
	d.exec(ddl(t))
	d.exec("CREATE TABLE coverage (dataset VARCHAR, requested_school_bid VARCHAR, status VARCHAR, snapshot_date DATE)")
	tables := make(map[string]any)
	for table, all := range versions {
		d.exec("ALTER TABLE " + table + " ADD COLUMN valid_from DATE; ALTER TABLE " + table + " ADD COLUMN ended_because VARCHAR;" +
			"ALTER TABLE " + table + " ADD COLUMN valid_to DATE")
		files := []any{}
		days := make(map[any]int)
		for _, v := range all {
			var columns, values []string
			for column, value := range v {
				columns = append(columns, column)
				text, err := json.Marshal(value)
				require.NoError(t, err)
				values = append(values, "("+literal(string(text))+"::JSON->>'$')")
			}
			d.exec("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", "))
			days[v["valid_to"]]++
		}
		for day, rows := range days {
			path := "history/" + table + "/valid_to=" + day.(string) + "/part-0000-h.parquet"
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dest, path)), 0o700))
			d.exec("COPY (SELECT * EXCLUDE (snapshot_date, valid_to) FROM " + table + " WHERE valid_to = " + literal(day.(string)) + "::DATE) TO " +
				literal(dest+"/"+path) + " (FORMAT parquet)")
			files = append(files, map[string]any{"path": path, "rows": rows})
		}
		tables[table] = map[string]any{"rows": len(all), "files": files}
	}
	document := func(path string, value any) []byte {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dest, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dest, path), text, 0o600))
		return text
	}
	var snapshots []any
	for _, day := range []string{day1, day2, day3, day4} {
		snapshots = append(snapshots, map[string]any{"date": day})
	}
	hash := sha256.Sum256(document("_history/h/manifest.json", map[string]any{
		"format_version": 1, "history_id": "h", "snapshots": snapshots, "tables": tables,
	}))
	document("_history.json", map[string]any{
		"history_id": "h", "through": day4, "manifest": "_history/h/manifest.json", "manifest_sha256": hex.EncodeToString(hash[:]),
	})
}

// text returns a value as text, and whether it has one.
func (v version) text(column string) (string, bool) {
	text, _ := v[column].(string)
	return text, text != ""
}

// naiveChanges computes the changes of all days. A change is a pair of the versions that ended and began.
func naiveChanges(all []version, keys []string, child bool) (changes [][2]version) {
	for _, day := range []string{day1, day2, day3, day4} {
		var begun, ended []version
		for _, v := range all {
			if v["valid_from"] == day {
				begun = append(begun, v)
			}
			if v["valid_to"] == day {
				ended = append(ended, v)
			}
		}
		for _, v := range begun {
			i := slices.IndexFunc(ended, func(other version) bool {
				return !child && other["ended_because"] == "changed" && !slices.ContainsFunc(keys, func(key string) bool {
					_, complete := v.text(key)
					return !complete || v[key] != other[key]
				})
			})
			if i < 0 {
				changes = append(changes, [2]version{nil, v})
				continue
			}
			changes = append(changes, [2]version{ended[i], v})
			ended = slices.Delete(ended, i, i+1)
		}
		for _, v := range ended {
			changes = append(changes, [2]version{v, nil})
		}
	}
	return changes
}

// naiveEver returns the last version of each result, by bid.
func naiveEver(all []version) map[string]version {
	ever := make(map[string]version)
	for _, v := range all {
		bid, ok := v.text("test_result_bid")
		if other := ever[bid]; ok && (other == nil || v["valid_to"].(string) > other["valid_to"].(string)) {
			ever[bid] = v
		}
	}
	return ever
}

// naivePairs returns growth by the bids of two results.
func naivePairs(all []version) map[string]any {
	series := make(map[string][]version)
	for _, v := range naiveEver(all) {
		student, known := v.text("student_bid")
		if _, started := v.text("administration_start_date_time"); known && started {
			series[student] = append(series[student], v)
		}
	}
	pairs := make(map[string]any)
	for _, results := range series {
		slices.SortFunc(results, func(a, b version) int {
			return cmp.Or(
				cmp.Compare(a["administration_start_date_time"].(string), b["administration_start_date_time"].(string)),
				cmp.Compare(a["test_result_bid"].(string), b["test_result_bid"].(string)))
		})
		for i := 1; i < len(results); i++ {
			from, to := results[i-1], results[i]
			one, _ := from.text("term_bid")
			if other, _ := to.text("term_bid"); one == other {
				continue
			}
			name := from["test_result_bid"].(string) + " > " + to["test_result_bid"].(string)
			pairs[name] = nil
			if from["rit"] != nil && to["rit"] != nil {
				pairs[name] = int64(to["rit"].(int) - from["rit"].(int))
			}
		}
	}
	return pairs
}

// TestSQLOfHistory compares the views of a history with simple computations over its versions.
func TestSQLOfHistory(t *testing.T) {
	t.Parallel()
	dest := filepath.ToSlash(filepath.Join(t.TempDir(), "growth's [data]"))
	versions := handmadeVersions()
	writeHistory(t, dest, versions)
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec("SET TimeZone = 'America/Chicago'")
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--history", "--views", "analysis"))
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--history", "--schema", "again"))
	testDescribedColumns(t, d)

	for table, all := range versions {
		for _, day := range []string{"2026-08-31", day1, day2, day3, day4, "2030-01-01"} {
			valid, current := 0, 0
			for _, v := range all {
				if v["valid_from"].(string) <= day && day < v["valid_to"].(string) {
					valid++
				}
				if v["valid_to"] == never {
					current++
				}
			}
			for _, schema := range []string{"", "again."} {
				require.EqualValues(t, valid, d.one("SELECT count(*) FROM "+schema+table+"_as_of("+literal(day)+")"), "%s on %s", table, day)
				require.EqualValues(t, current, d.one("SELECT count(*) FROM "+schema+table+"_current"), table)
				require.EqualValues(t, len(all), d.one("SELECT count(*) FROM "+schema+table+"_versions"), table)
			}
		}
	}
	require.Equal(t, [][]any{{"requested_school_bid", "s2", day2, nil}}, d.query(
		"SELECT 'requested_school_bid', requested_school_bid, valid_from, ended_because FROM test_results_as_of(DATE '2026-09-02')"+
			" WHERE test_result_bid = 'moved'"))

	for table, about := range map[string]struct {
		keys   []string
		child  bool
		column string
	}{
		"test_results":           {keys: []string{"requested_school_bid", "test_result_bid"}, column: "rit"},
		"test_result_norms":      {child: true, column: "percentile"},
		"student_school_classes": {keys: []string{"school_class_bid"}, column: "class_name"},
		"districts":              {keys: []string{"district_bid"}, column: "district_name"},
		"students":               {column: "last_name"},
		"academic_years":         {keys: []string{"academic_year_bid"}, column: "academic_year_bid"},
		"coverage":               {keys: []string{"dataset", "requested_school_bid"}, column: "status"},
	} {
		want := [][]any{}
		for _, change := range naiveChanges(versions[table], about.keys, about.child) {
			before, after := change[0], change[1]
			row := []any{nil, "update", before["ended_because"], nil, before[about.column]}
			switch {
			case before == nil:
				row[1] = "insert"
			case after == nil:
				row[1], row[4], after = "delete", nil, before
				row[0] = before["valid_to"]
			}
			row[0], row[3] = cmp.Or(row[0], after["valid_from"]), after[about.column]
			for i, value := range row {
				if n, ok := value.(int); ok {
					row[i] = int64(n)
				}
			}
			want = append(want, row)
		}
		got := d.query("SELECT day, change, because, " + about.column + ", before." + about.column + " FROM " + table + "_changes")
		require.ElementsMatch(t, want, got, table)
	}
	ever := naiveEver(versions["test_results"])
	rows := d.query("SELECT test_result_bid, valid_from, valid_to, ended_because, standing FROM test_results_ever")
	require.Len(t, rows, len(ever))
	for _, row := range rows {
		v := ever[row[0].(string)]
		require.Equal(t, []any{v["valid_from"], v["valid_to"], v["ended_because"], v["valid_to"] == never}, row[1:], row[0])
	}
	require.Equal(t, [][]any{{"s1"}}, d.query("SELECT requested_school_bid FROM test_results_ever WHERE test_result_bid = 'both'"))
	columns := d.describe("test_results_versions")
	require.Equal(t, slices.Concat(columns[:len(columns)-2], [][]any{{"valid_to", "DATE"}, {"ended_because", "VARCHAR"}, {"standing", "BOOLEAN"}}),
		d.describe("test_results_ever"))

	pairs := make(map[string]any)
	for _, row := range d.query("SELECT from_test_result_bid || ' > ' || to_test_result_bid, growth FROM again.growth_pairs") {
		pairs[row[0].(string)] = row[1]
	}
	require.Equal(t, naivePairs(versions["test_results"]), pairs)
	require.EqualValues(t, 7, pairs["twice > winter"])
	require.EqualValues(t, -2, pairs["superseded > supersedes"])
	// The name of a student who has left comes from the last roster.
	require.ElementsMatch(t, [][]any{{"p1", "17", "Ann", "Lee-Park"}, {"p2", nil, nil, "Ito"}}, d.query(
		"SELECT DISTINCT student_bid, student_id, first_name, last_name FROM analysis_growth WHERE last_name IS NOT NULL"))
	require.Equal(t, [][]any{
		{"student_bid", "VARCHAR"},
		{"subject_area", "VARCHAR"},
		{"from_test_result_bid", "VARCHAR"},
		{"to_test_result_bid", "VARCHAR"},
		{"from_term_bid", "VARCHAR"},
		{"to_term_bid", "VARCHAR"},
		{"from_rit", "INTEGER"},
		{"to_rit", "INTEGER"},
		{"from_administration_start_date_time", "TIMESTAMP WITH TIME ZONE"},
		{"to_administration_start_date_time", "TIMESTAMP WITH TIME ZONE"},
		{"growth", "BIGINT"},
	}, d.describe("growth_pairs"))
}

// TestTimeDocument runs the statements of docs/time.md. Each query finds rows. A view that a statement replaces
// keeps its columns. TestEnrollmentOnADate runs the query of another schema.
func TestTimeDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository, "docs", "time.md"))
	require.NoError(t, err)
	dest := filepath.ToSlash(t.TempDir())
	writeHistory(t, dest, handmadeVersions())
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	views := execute(t, growthExport, "sql", "--dest", dest, "--history", "--views", "analysis")
	d.exec(views)
	queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(queries), 4)
	for _, query := range queries {
		if strings.Contains(query[1], october) {
			continue
		}
		if rest, found := strings.CutPrefix(query[1], "CREATE OR REPLACE VIEW "); found {
			view, _, _ := strings.Cut(rest, " ")
			before := d.describe(view)
			d.exec(query[1])
			require.Equal(t, before, d.describe(view), query[1])
			d.exec(views)
			continue
		}
		require.NotZero(t, d.one("SELECT count(*) FROM ("+strings.TrimSuffix(query[1], ";\n")+")"), query[1])
	}
}

// october is in the query of docs/time.md that counts the enrolled students of a date.
const october = "FROM october."

// TestEnrollmentOnADate compares the enrolled students of a date, by name of school, with the oracle.
func TestEnrollmentOnADate(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository, "docs", "time.md"))
	require.NoError(t, err)
	query := regexp.MustCompile("(?s)```sql\n([^`]*" + october + ".*?);\n```").FindSubmatch(page)
	require.NotNil(t, query)

	dest := filepath.ToSlash(t.TempDir())
	tonight, date := time.Date(2026, 2, 12, 0, 0, 0, 0, time.UTC), time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)
	for _, kind := range [][]string{{"--snapshot-date", "2026-02-12", "--backdate"}, {"--effective-date", "2025-10-01"}} {
		execute(t, growthExport, append([]string{
			"run", "--simulate", "--simulate-date", "2026-02-12", "--simulate-schools", "6",
			"--simulate-results", "500", "--simulate-sizes", "60,30", "--dest", dest, "--progress", "none",
		}, kind...)...)
	}
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--views", "analysis"))
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--effective-date", "2025-10-01", "--schema", "october"))

	world := simulator.NewWorld(simulator.Options{AsOf: tonight, Schools: 6, Results: 500, SchoolSizes: []int{60, 30}})
	names, enrolled := map[any]any{}, map[any]map[any]bool{}
	for _, row := range oracle.Rows(world, oracle.Options{EffectiveDate: tonight})["schools"] {
		names[row["school_bid"]] = row["name"]
	}
	rows := oracle.Rows(world, oracle.Options{EffectiveDate: date})["student_school_associations"]
	for _, row := range rows {
		if row["student_bid"] == nil {
			continue
		}
		name := names[row["school_bid"]]
		if enrolled[name] == nil {
			enrolled[name] = map[any]bool{}
		}
		enrolled[name][row["student_bid"]] = true
	}
	var want [][]any
	students := 0
	for name, bids := range enrolled {
		want = append(want, []any{name, int64(len(bids))})
		students += len(bids)
	}
	require.Len(t, want, 6)
	require.Less(t, students, len(rows)) // a perspective repeats enrollments
	require.ElementsMatch(t, want, d.query(string(query[1])))
}

// TestHistoryOfNights exports and folds nights of the simulated service, and compares the views with the snapshots and
// with the true history.
func TestHistoryOfNights(t *testing.T) {
	t.Parallel()
	dest := filepath.ToSlash(t.TempDir())
	datasets := []string{"schools", "students", "test_results"}
	service := simulator.Options{Schools: 9, Results: 300, SchoolSizes: []int{30}}
	var nights []time.Time
	for _, date := range []string{"2025-09-12", "2025-09-13", "2025-12-05", "2026-02-03", "2026-05-10", "2026-09-20", "2026-09-21"} {
		night, err := time.Parse(time.DateOnly, date)
		require.NoError(t, err)
		nights = append(nights, night)
		execute(t, growthExport, "run", "--simulate", "--simulate-date", date, "--simulate-schools", "9", "--simulate-results", "300",
			"--simulate-sizes", "30", "--dest", dest, "--snapshot-date", date, "--backdate", "--datasets", strings.Join(datasets, ","),
			"--max-shrink", "off", "--compare", "off", "--progress", "none")
	}
	execute(t, growthExport, "history", "--dest", dest)
	compareViews(t, dest, oracle.Nights(service, oracle.Options{Datasets: datasets}, nights))
}
