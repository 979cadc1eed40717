package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// TestSQL runs the output of `sql` unchanged: a view of each table of a snapshot, with the generated columns and the
// rows of its files.
func TestSQL(t *testing.T) {
	t.Parallel()
	for _, e := range []export{
		{name: "plain"},
		{name: "by district", args: []string{"--partition-by", "district", "--schools-per-file", "4"}, byDistrict: true},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := runExport(t, e)
			statements := execute(t, growthExport, "sql", "--dest", s.dest)
			require.Equal(t, statements, execute(t, growthExport, "sql", "--dest", s.dest, "--snapshot-date", s.manifest.SnapshotDate))

			declared, d := newDuck(t), newDuck(t)
			declared.exec(ddl(t))
			d.db.SetMaxOpenConns(1)
			d.exec("SET TimeZone = 'UTC'")
			d.exec(statements)
			require.NotEmpty(t, s.tables())
			for _, table := range s.tables() {
				columns := declared.describe(table.Name)
				if s.hasDistricts(table) {
					columns = slices.Insert(columns, len(columns)-1, []any{"district", "VARCHAR"})
				}
				require.Equal(t, columns, d.describe(table.Name), table.Name)
				require.Equal(t, s.manifest.Tables[table.Name].Rows, d.one("SELECT count(*) FROM "+table.Name), table.Name)
				require.Zero(t, d.one("SELECT count(*) FROM (FROM "+table.Name+" EXCEPT ALL FROM "+s.files(table)+")"), table.Name)
			}
			require.EqualValues(t, len(s.tables()), d.one("SELECT count(*) FROM duckdb_views() WHERE NOT internal"))
		})
	}
}

// TestSQLAsOf reads enrollment as of a date.
func TestSQLAsOf(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	execute(t, growthExport, "run", "--simulate", "--dest", dest, "--progress", "none",
		"--effective-date", "2026-10-01", "--datasets", "student_school_associations")
	d := newDuck(t)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--effective-date", "2026-10-01"))
	require.Equal(t, [][]any{{"2026-10-01"}}, d.query("SELECT DISTINCT snapshot_date FROM student_school_associations"))
}

// TestSQLOfDeltas checks that two delta runs of one day can be read by their ids, and that a key in both has one row in
// the combined view.
func TestSQLOfDeltas(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	ids := []string{"since-later", "since-earlier"}
	for i, days := range []int{21, 38} {
		since := time.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly)
		execute(t, growthExport, "run", "--simulate", "--dest", dest, "--progress", "none", "--run-id", ids[i], "--modified-since", since)
	}
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--changes"))
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--run-id", strings.Join(ids, ","), "--schema", "named"))
	for _, id := range ids {
		d.exec(execute(t, growthExport, "sql", "--dest", dest, "--run-id", id, "--schema", strings.ReplaceAll(id, "-", "_")))
	}
	const table = "student_school_associations"
	count := func(from string) int64 {
		n, ok := d.one("SELECT count(*) FROM " + from).(int64)
		require.True(t, ok)
		return n
	}
	later, earlier := count("since_later."+table), count("since_earlier."+table)
	require.Positive(t, later)
	require.Greater(t, earlier, later)
	require.Equal(t, later+earlier, count("read_parquet("+literal(dest+"/changes/"+table+"/snapshot_date=*/*.parquet")+")"),
		"a glob has the rows of both runs")
	require.Equal(t, earlier, count(table))

	tables := 0
	for _, table := range schemas.Tables() {
		if d.one("SELECT count(*) FROM duckdb_views() WHERE schema_name = 'named' AND view_name = "+literal(table.Name)) == int64(0) {
			continue
		}
		tables++
		require.Equal(t, d.describe("since_earlier."+table.Name), d.describe(table.Name), table.Name)
		require.Zero(t, d.one("SELECT count(*) FROM (FROM "+table.Name+" EXCEPT ALL FROM named."+table.Name+")"), table.Name)
		// The second run requested everything that the first did, and more.
		require.Zero(t, d.one("SELECT count(*) FROM (FROM "+table.Name+" EXCEPT ALL FROM since_earlier."+table.Name+")"), table.Name)
		require.Equal(t, d.one("SELECT count(*) FROM since_earlier."+table.Name), d.one("SELECT count(*) FROM "+table.Name), table.Name)
	}
	require.Equal(t, 7, tables)
}

// TestQueriesOfAnOddDestination runs all queries that are printed for a destination whose name is a pattern, beside
// another one that the pattern matches.
func TestQueriesOfAnOddDestination(t *testing.T) {
	t.Parallel()
	folder := filepath.ToSlash(t.TempDir())
	dest := folder + "/growth's *[ab]?"
	printed := execute(t, growthExport, "run", "--simulate", "--simulate-schools", "4", "--dest", dest, "--progress", "none")
	require.NoError(t, os.CopyFS(folder+"/growth's xax", os.DirFS(dest)))

	d := newReader(t, dest, "views")
	rows := d.one("SELECT count(*) FROM test_results")
	require.Positive(t, rows)
	const newest = "SELECT max(snapshot_date)::VARCHAR FROM test_results" // of one file
	date := d.one(newest)
	query := regexp.MustCompile("(?m)in DuckDB: (.*)$").FindStringSubmatch(printed)
	require.NotNil(t, query, printed)
	require.Equal(t, rows, d.one(query[1]))

	views := newDuck(t)
	views.db.SetMaxOpenConns(1)
	views.exec(execute(t, growthExport, "sql", "--dest", dest))
	require.Equal(t, rows, views.one("SELECT count(*) FROM test_results"))
	require.Equal(t, date, views.one(newest))
}

// TestSQLLatestOfKey checks which row of a key is shown.
func TestSQLLatestOfKey(t *testing.T) {
	t.Parallel()
	dest := filepath.ToSlash(filepath.Join(t.TempDir(), "growth's [data]"))
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec("SET TimeZone = 'UTC'")
	d.exec(ddl(t))
	class := func(bid, modified, name string) {
		d.exec("INSERT INTO school_classes (requested_perspective_bid, requested_school_bid, school_class_bid, modified_date_time, class_name)" +
			" VALUES ('p', 's', " + bid + ", " + modified + ", " + literal(name) + ")")
	}
	member := func(bid, ordinal, student string) {
		d.exec("INSERT INTO school_class_students (requested_perspective_bid, requested_school_bid, school_class_bid, ordinal, student_bid)" +
			" VALUES ('p', 's', " + bid + ", " + ordinal + ", " + literal(student) + ")")
	}
	publish := func(run, plannedAt string) {
		tables := make(map[string]any)
		for _, table := range []string{"school_classes", "school_class_students"} {
			path := "changes/" + table + "/snapshot_date=2026-11-20/part-0000-" + run + ".parquet"
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dest, path)), 0o700))
			rows := d.one("SELECT count(*) FROM " + table)
			d.exec("COPY (SELECT * EXCLUDE (snapshot_date) FROM " + table + ") TO " + literal(dest+"/"+path) + " (FORMAT parquet)")
			d.exec("DELETE FROM " + table)
			tables[table] = map[string]any{"rows": rows, "files": []any{map[string]any{"path": path, "rows": rows}}}
		}
		text, err := json.Marshal(map[string]any{
			"format_version": 1, "run_id": run, "status": "published", "kind": "delta", "snapshot_date": "2026-11-20",
			"started_at": plannedAt, "tables": tables,
		})
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dest, "_runs", run), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dest, "_runs", run, "manifest.json"), text, 0o600))
	}
	// The id of the earlier run sorts last.
	class("'shrunk'", "'2026-11-20 01:00:00Z'", "old")
	member("'shrunk'", "0", "stays")
	member("'shrunk'", "1", "left")
	class("'ahead'", "'2026-11-20 01:30:00Z'", "new") // read late by the first run, early by the second
	class("'undated'", "NULL", "old")
	class("'lost its date'", "'2026-11-20 01:00:00Z'", "dated")
	class("NULL", "'2026-11-20 01:00:00Z'", "no key")
	class("''", "'2026-11-20 01:00:00Z'", "empty key")
	class("'once'", "NULL", "only")
	member("NULL", "0", "of no class")
	publish("z", "2026-11-20T02:00:00Z")
	class("'shrunk'", "'2026-11-20 02:00:00Z'", "new")
	member("'shrunk'", "0", "stays")
	class("'ahead'", "'2026-11-20 01:10:00Z'", "old")
	class("'undated'", "NULL", "new")
	class("'lost its date'", "NULL", "undated")
	class("NULL", "'2026-11-20 02:00:00Z'", "no key")
	class("''", "'2026-11-20 02:00:00Z'", "empty key")
	member("NULL", "0", "of no class")
	publish("a", "2026-11-20T03:00:00Z")

	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--changes", "--schema", "changes"))
	require.Equal(t, [][]any{
		{"", "empty key"},
		{"", "empty key"},
		{"ahead", "new"},
		{"lost its date", "dated"},
		{"once", "only"},
		{"shrunk", "new"},
		{"undated", "new"},
		{nil, "no key"},
		{nil, "no key"},
	}, d.query("SELECT school_class_bid, class_name FROM changes.school_classes ORDER BY ALL NULLS LAST"))
	require.Equal(t, [][]any{{"shrunk", "stays"}, {nil, "of no class"}, {nil, "of no class"}},
		d.query("SELECT school_class_bid, student_bid FROM changes.school_class_students ORDER BY ALL NULLS LAST"))
}

// TestSQLSideBySide reads two snapshots in two schemas.
func TestSQLSideBySide(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	today := time.Now().UTC()
	yesterday := today.AddDate(0, 0, -1).Format(time.DateOnly)
	for seed, date := range map[string]string{"1": yesterday, "2": today.Format(time.DateOnly)} {
		execute(t, growthExport, "run", "--simulate", "--simulate-schools", "3", "--simulate-seed", seed, "--dest", dest,
			"--progress", "none", "--datasets", "schools", "--snapshot-date", date, "--run-id", "night-"+seed)
	}
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--snapshot-date", yesterday, "--schema", "before"))
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--run-id", "night-2", "--schema", "after"))
	require.Equal(t, [][]any{{"after", "schools"}, {"before", "schools"}},
		d.query("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"))
	require.Equal(t, [][]any{{yesterday, int64(3)}}, d.query("SELECT snapshot_date, count(*) FROM before.schools GROUP BY ALL"))
	require.Equal(t, [][]any{{today.Format(time.DateOnly), int64(3)}}, d.query("SELECT snapshot_date, count(*) FROM after.schools GROUP BY ALL"))
	require.EqualValues(t, 3, d.one("SELECT count(*) FROM after.schools ANTI JOIN before.schools USING (school_bid)"))
}
