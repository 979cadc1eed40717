package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// newDuckWithDuckLake returns a DuckDB with one connection and its extension for DuckLake.
func newDuckWithDuckLake(t *testing.T) *duck {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("DUCKLAKE"), "lib/python*/site-packages/duckdb_extension_ducklake/extensions/*/ducklake.duckdb_extension"))
	require.NoError(t, err)
	if len(found) == 0 {
		const message = "DUCKLAKE is not set: make check installs DuckDB's extension for DuckLake and sets it"
		if os.Getenv("CI") != "" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec("SET TimeZone = 'UTC'")
	d.exec("LOAD " + literal(found[0]))
	return d
}

// TestDuckLake writes a DuckLake catalogue of two nights, reads the tables through it, and looks for students in its bytes.
func TestDuckLake(t *testing.T) {
	t.Parallel()
	newDuckWithDuckLake(t)
	folder := filepath.ToSlash(t.TempDir())
	dest := folder + "/growth's *[ab]?"
	dates := []string{"2026-10-20", "2026-11-19"}
	for _, date := range dates {
		execute(t, growthExport, "run", "--simulate", "--simulate-schools", "3", "--simulate-sizes", "30,30,30", "--simulate-results", "100",
			"--schools-per-file", "1", "--partition-by", "district", "--dest", dest, "--snapshot-date", date, "--backdate", "--progress", "none")
	}
	script := execute(t, growthExport, "sql", "--dest", dest, "--format", "ducklake")

	t.Run("no students", func(t *testing.T) {
		t.Parallel()
		students := studentsOf(t, dest)
		require.Empty(t, found(students, writeDuckLake(t, script)))

		// What DuckLake itself keeps would be found.
		kept := strings.Join(statements(script, "DELETE "), ";\n")
		kept = strings.Replace(kept, "error('The catalogue", "concat('The catalogue", 1)
		classes := make(map[schemas.Class]bool)
		for _, text := range found(students, writeDuckLake(t, kept)) {
			classes[students[text]] = true
		}
		require.Len(t, classes, 3)
	})
	t.Run("failure", func(t *testing.T) {
		t.Parallel()
		path := filepath.ToSlash(filepath.Join(t.TempDir(), "growth.ducklake"))
		d := newDuckWithDuckLake(t)
		// A client that continues after errors, and a DuckLake with other names.
		failed := 0
		for _, statement := range statements(strings.ReplaceAll(script, ".ducklake_table_column_stats", ".renamed"), "") {
			if _, err := d.db.ExecContext(t.Context(), strings.ReplaceAll(statement, "'growth.ducklake'", literal(path))); err != nil {
				failed++
			}
		}
		require.GreaterOrEqual(t, failed, 3)
		d.exec("ATTACH " + literal(path) + " AS written")
		require.EqualValues(t, 0, d.one("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'written'"))
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		testDuckLakeRows(t, script, dest, dates)
	})
}

// statements returns the statements of a script, except those that begin with the given text.
func statements(script, except string) []string {
	var kept []string
	for statement := range strings.SplitSeq(script, ";\n") {
		if except == "" || !strings.HasPrefix(strings.TrimSpace(statement), except) {
			kept = append(kept, statement)
		}
	}
	return kept
}

// writeDuckLake runs the script and returns the bytes of the catalogue, which DuckDB does not compress.
func writeDuckLake(t *testing.T, script string) []byte {
	t.Helper()
	path := filepath.ToSlash(filepath.Join(t.TempDir(), "growth.ducklake"))
	d := newDuckWithDuckLake(t)
	d.exec("PRAGMA force_compression = 'uncompressed'")
	d.exec(strings.ReplaceAll(script, "'growth.ducklake'", literal(path)))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// studentsOf returns texts of five bytes or more that identify students at the destination, with their privacy classes.
func studentsOf(t *testing.T, dest string) map[string]schemas.Class {
	t.Helper()
	d := newReader(t, dest, "views")
	students := make(map[string]schemas.Class)
	for _, table := range schemas.Tables() {
		if d.describe(table.Name)[0][0] == "not_exported" {
			continue
		}
		for _, column := range table.Columns {
			switch column.Class {
			case schemas.ID, schemas.Record, schemas.Direct:
				for _, row := range d.query("SELECT DISTINCT " + column.Name + " FROM " + table.Name + " WHERE strlen(" + column.Name + ") > 4") {
					text, ok := row[0].(string)
					require.True(t, ok)
					students[text] = column.Class
				}
			}
		}
	}
	return students
}

// found returns the texts that are in the content.
func found(texts map[string]schemas.Class, content []byte) []string {
	byStart := make(map[string][]string)
	for text := range texts {
		byStart[text[:5]] = append(byStart[text[:5]], text)
	}
	var in []string
	for i := range len(content) - 5 {
		for _, text := range byStart[string(content[i:i+5])] {
			if bytes.HasPrefix(content[i:], []byte(text)) {
				in = append(in, text)
			}
		}
	}
	return in
}

// testDuckLakeRows compares the tables of the catalogue with the views of a night.
func testDuckLakeRows(t *testing.T, script, dest string, dates []string) {
	t.Helper()
	path := filepath.ToSlash(filepath.Join(t.TempDir(), "growth.ducklake"))
	d := newDuckWithDuckLake(t)
	d.exec(strings.ReplaceAll(script, "'growth.ducklake'", literal(path)))
	d.exec("ATTACH " + literal("ducklake:"+path) + " AS growth (READ_ONLY)")
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--snapshot-date", dates[0], "--schema", "night"))
	tables := 0
	for _, row := range d.query("SELECT view_name FROM duckdb_views() WHERE schema_name = 'night'") {
		table, ok := row[0].(string)
		require.True(t, ok)
		tables++
		lake, night := "growth."+table, "night."+table
		require.Equal(t, d.describe(night), d.describe(lake), table)
		ofNight := "(FROM " + lake + " WHERE snapshot_date = " + literal(dates[0]) + "::DATE)"
		require.Zero(t, d.one("SELECT count(*) FROM (FROM "+night+" EXCEPT ALL FROM "+ofNight+")"), table)
		require.Zero(t, d.one("SELECT count(*) FROM (FROM "+ofNight+" EXCEPT ALL FROM "+night+")"), table)
		require.Equal(t, d.query("SELECT min(COLUMNS(*))::VARCHAR, max(COLUMNS(*))::VARCHAR FROM "+night), d.query("SELECT min(COLUMNS(*))::VARCHAR, max(COLUMNS(*))::VARCHAR FROM "+ofNight), table)
	}
	require.Greater(t, tables, 10)

	// Only the statistics of schools, districts and dates are left.
	for _, kind := range []string{"file", "table"} {
		stats := "__ducklake_metadata_growth.ducklake_" + kind + "_column_stats"
		require.Equal(t, [][]any{
			{"district"}, {"district_bid"}, {"requested_district_bid"}, {"requested_perspective_bid"}, {"requested_school_bid"}, {"school_bid"}, {"snapshot_date"},
		}, d.query("SELECT DISTINCT column_name FROM "+stats+" JOIN __ducklake_metadata_growth.ducklake_column USING (table_id, column_id) ORDER BY ALL"))
		require.Positive(t, d.one("SELECT count(*) FROM "+stats+" WHERE min_value IS NOT NULL"))
	}
	_, err := d.db.ExecContext(t.Context(), "DELETE FROM growth.students")
	require.ErrorContains(t, err, "read-only")
}
