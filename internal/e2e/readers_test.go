package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// newReader returns a DuckDB after running example files, named without extension, on a destination.
func newReader(t *testing.T, dest string, examples ...string) *duck {
	t.Helper()
	d := newDuck(t)
	d.db.SetMaxOpenConns(1) // the examples' variables and views belong to a session
	d.exec("SET TimeZone = 'UTC'")
	if dest != "" {
		d.exec("SET VARIABLE dest = " + literal(dest))
	}
	for _, name := range examples {
		d.exec(exampleSQL(t, name))
	}
	return d
}

// exampleSQL returns an example file for DuckDB.
func exampleSQL(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "examples", "duckdb", name+".sql"))
	require.NoError(t, err)
	return string(text)
}

// fails returns the error of a query, which must have one.
func (d *duck) fails(statement string) string {
	d.t.Helper()
	rows, err := d.db.QueryContext(d.t.Context(), statement)
	if err == nil {
		for rows.Next() {
			continue
		}
		err = rows.Err()
		require.NoError(d.t, rows.Close())
	}
	require.Error(d.t, err, statement)
	return err.Error()
}

// allTables returns the tables of every dataset, exported or not.
func allTables() []*schemas.Table {
	var tables []*schemas.Table
	for _, dataset := range schemas.Datasets() {
		tables = append(tables, dataset.Tables...)
	}
	return tables
}

// TestReaders runs the example readers on snapshots with and without districts.
func TestReaders(t *testing.T) {
	t.Parallel()
	for _, e := range []export{
		{name: "plain"},
		{name: "by district", args: []string{"--partition-by", "district", "--schools-per-file", "4"}, byDistrict: true},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := runExport(t, e)
			t.Run("views", func(t *testing.T) { t.Parallel(); testViews(t, s) })
			t.Run("terms", func(t *testing.T) { t.Parallel(); testTerms(t, s) })
			t.Run("assessment export", func(t *testing.T) { t.Parallel(); testAssessmentResults(t, s) })
			t.Run("analysis", func(t *testing.T) { t.Parallel(); testAnalysis(t, s) })
		})
	}
}

// testViews checks that there is a view for each declared table, with the generated columns and the rows of its files,
// or with an error if the table was not exported.
func testViews(t *testing.T, s *snapshot) {
	t.Helper()
	d := newReader(t, s.dest)
	d.exec(ddl(t)) // tables of the same names, which the views hide
	d.exec(exampleSQL(t, "views"))
	exported := map[string]bool{}
	for _, table := range s.tables() {
		exported[table.Name] = true
	}
	want := []string{"ledger"}
	for _, table := range allTables() {
		want = append(want, table.Name)
		view := "temp." + table.Name
		if !exported[table.Name] {
			require.Contains(t, d.fails("SELECT count(*) FROM "+view), "the latest snapshot has no table "+table.Name)
			continue
		}
		columns := d.describe("SELECT * FROM memory." + table.Name)
		if s.hasDistricts(table) {
			columns = slices.Insert(columns, len(columns)-1, []any{"district", "VARCHAR"})
		}
		require.Equal(t, columns, d.describe("SELECT * FROM "+view), table.Name)
		require.Equal(t, s.manifest.Tables[table.Name].Rows, d.one("SELECT count(*) FROM "+view), table.Name)
		require.Zero(t, d.one("SELECT count(*) FROM (FROM "+view+" EXCEPT ALL FROM "+s.files(table)+")"), table.Name)
	}
	require.Equal(t, s.manifest.Ledger.Rows, d.one("SELECT count(*) FROM ledger"))

	var views []string
	for _, row := range d.query("SELECT view_name FROM duckdb_views() WHERE NOT internal") {
		views = append(views, row[0].(string))
	}
	require.ElementsMatch(t, want, views)
}

// testTerms checks that every session is one term, and that every result has a term and was taken within it.
func testTerms(t *testing.T, s *snapshot) {
	t.Helper()
	d := newReader(t, s.dest, "views", "terms")
	require.Greater(t, d.one("SELECT count(*) FROM enrollment_sessions"), d.one("SELECT count(*) FROM terms"))
	require.Equal(t,
		d.query("SELECT DISTINCT enrollment_session_bid, description, begin_date, end_date FROM enrollment_sessions ORDER BY ALL"),
		d.query("SELECT term_bid, term_name, term_begin_date, term_end_date FROM terms ORDER BY ALL"))
	require.Equal(t, s.manifest.Tables["test_results"].Rows, d.one("SELECT count(*) FROM test_results_with_terms"))
	require.Zero(t, d.one(`
		SELECT count(*) FROM test_results_with_terms
		WHERE (administration_start_date_time::DATE BETWEEN term_begin_date AND term_end_date) IS NOT TRUE
			OR academic_year IS NULL`))
}
