package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/schemas"
)

// exports returns the runs that TestExport checks.
func exports() []export {
	return []export{
		{name: "defaults"},
		{name: "several files, faults", args: []string{
			"--schools-per-file", "5", "--concurrency", "16", "--simulate-faults", "0.15",
		}},
		{name: "by district", args: []string{"--partition-by", "district"}, byDistrict: true},
		{name: "own perspective", args: []string{"--perspectives", "own"}, own: true},
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	all := exports()
	require.NotEmpty(t, all)
	for _, e := range all {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := runExport(t, e)
			t.Run("columns", func(t *testing.T) { t.Parallel(); testColumns(t, s) })
			t.Run("rows", func(t *testing.T) { t.Parallel(); testRows(t, s) })
			t.Run("ledger", func(t *testing.T) { t.Parallel(); testLedger(t, s) })
			t.Run("manifest", func(t *testing.T) { t.Parallel(); testManifest(t, s) })
			t.Run("verify", func(t *testing.T) { t.Parallel(); execute(t, racedExport, "verify", "--dest", s.dest) })
		})
	}
}

// testColumns checks that DuckDB sees the columns of the generated DDL, including partitions.
func testColumns(t *testing.T, s *snapshot) {
	t.Helper()
	d := newDuck(t)
	d.exec(ddl(t))
	for _, table := range s.tables() {
		declared := d.describe("SELECT * FROM " + table.Name)
		require.Equal(t, []any{"snapshot_date", "DATE"}, declared[len(declared)-1], table.Name)
		if s.hasDistricts(table) {
			declared = slices.Insert(declared, len(declared)-1, []any{"district", "VARCHAR"})
		}
		require.Equal(t, declared, d.describe("SELECT * FROM "+s.files(table)), table.Name)
	}
}

// testRows checks that every table has exactly the oracle's rows, sorted, in the partitions of the day and of the
// school's district.
func testRows(t *testing.T, s *snapshot) {
	t.Helper()
	d := newDuck(t)
	all := oracle.Rows(s.world, oracle.Options{EffectiveDate: s.day(t), OwnPerspective: s.own})
	total := 0
	for _, table := range s.tables() {
		rows, known := all[table.Name]
		require.True(t, known, "the oracle does not know table %s", table.Name)
		want := expected(t, table, rows)
		if s.hasDistricts(table) {
			school := table.Column("requested_school_bid")
			slices.SortStableFunc(want, func(a, b []any) int {
				return strings.Compare(s.districtOf(a[school]), s.districtOf(b[school]))
			})
			require.Empty(t, d.query("SELECT DISTINCT district FROM "+s.files(table)+" AS f JOIN "+s.named("schools")+
				" AS s ON f.requested_school_bid = s.school_bid WHERE f.district <> s.district_bid"), table.Name)
		}
		got := d.query(s.inFileOrder(table))
		total += len(got)
		if i := firstDifference(want, got); i >= 0 {
			require.Fail(t, "rows differ", "table %s: %d rows expected, %d read; from row %d on (- expected, + read):\n%s",
				table.Name, len(want), len(got), i, cmp.Diff(window(want, i), window(got, i)))
		}
		require.EqualValues(t, len(want), d.one("SELECT count(*) FROM "+s.files(table)+
			" WHERE snapshot_date = "+literal(s.manifest.SnapshotDate)+"::DATE"), "rows of the day, table %s", table.Name)
	}
	require.Positive(t, total)
}

// expected returns the oracle's rows with their values in the order of the table's columns.
func expected(t *testing.T, table *schemas.Table, rows []oracle.Row) [][]any {
	t.Helper()
	laid := make([][]any, len(rows))
	for r, row := range rows {
		laid[r] = make([]any, len(table.Columns))
		for c, column := range table.Columns {
			value, known := row[column.Name]
			require.True(t, known, "the oracle does not know column %s of table %s", column.Name, table.Name)
			laid[r][c] = value
		}
		require.Len(t, row, len(table.Columns), "the oracle knows more columns than table %s has", table.Name)
	}
	return laid
}

// firstDifference returns the index of the first row that differs, or -1.
func firstDifference(want, got [][]any) int {
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || !slices.Equal(want[i], got[i]) {
			return i
		}
	}
	return -1
}

// window returns up to three rows from the i-th on, for error messages.
func window(rows [][]any, i int) [][]any {
	return rows[min(i, len(rows)):min(i+3, len(rows))]
}
