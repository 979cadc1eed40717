package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSQL runs what `sql` prints as it stands: a view for every table of a
// snapshot, with the generated columns and the rows of its files.
func TestSQL(t *testing.T) {
	t.Parallel()
	for _, e := range []export{
		{name: "plain"},
		{name: "by district", args: []string{"--partition-by", "district", "--schools-per-file", "4"}, byDistrict: true},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := take(t, e)
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

// TestSQLAsOf reads the enrollment as of a date.
func TestSQLAsOf(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	execute(t, growthExport, "run", "--simulate", "--dest", dest, "--progress", "none",
		"--effective-date", "2026-10-01", "--datasets", "student_school_associations")
	d := newDuck(t)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--effective-date", "2026-10-01"))
	require.Equal(t, [][]any{{"2026-10-01"}}, d.query("SELECT DISTINCT snapshot_date FROM student_school_associations"))
}
