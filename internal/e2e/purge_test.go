package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// TestPurge purges a school and looks for it with DuckDB: it occurs in no row and no column bound, and all other rows
// are unchanged.
func TestPurge(t *testing.T) {
	t.Parallel()
	s := runExport(t, export{args: []string{"--schools-per-file", "4"}})
	d := newDuck(t)
	for _, table := range s.tables() {
		d.exec(fmt.Sprintf("CREATE TABLE before_%s AS SELECT * FROM %s", table.Name, s.files(table)))
	}
	school := s.world.Schools()[1].Bid
	execute(t, racedExport, "purge", "--dest", s.dest, "--schools", school)
	execute(t, racedExport, "verify", "--dest", s.dest)

	removed := 0
	for _, dataset := range s.datasets() {
		first := dataset.Tables[0]
		for _, table := range dataset.Tables {
			after := s.files(table)
			for _, column := range table.Columns {
				if column.Type == schemas.String || column.Type == schemas.JSON {
					require.Zero(t, d.one(fmt.Sprintf("SELECT count(*) FROM %s WHERE contains(%s, %s)", after, column.Name, literal(school))),
						"%s.%s", table.Name, column.Name)
				}
			}
			pattern := literal(s.dest + "/" + table.Name + "/**/*.parquet")
			require.Zero(t, d.one(fmt.Sprintf("SELECT count(*) FROM parquet_metadata(%s) WHERE %s IN (stats_min, stats_max, stats_min_value, stats_max_value)",
				pattern, literal(school))), table.Name)

			kept := fmt.Sprintf("SELECT * FROM before_%s AS b WHERE %s", table.Name, keptRows(first, table, school))
			for _, difference := range []string{
				fmt.Sprintf("(%s) EXCEPT ALL (FROM %s)", kept, after), fmt.Sprintf("(FROM %s) EXCEPT ALL (%s)", after, kept),
			} {
				require.Zero(t, d.one("SELECT count(*) FROM ("+difference+")"), table.Name)
			}
			if d.one("SELECT count(*) FROM before_"+table.Name) != d.one("SELECT count(*) FROM "+after) {
				removed++
			}
		}
	}
	require.Greater(t, removed, 8)
}

// keptRows returns the condition for row b of a table to survive the purge, which is that its record does.
func keptRows(first, table *schemas.Table, school string) string {
	stays := func(row string, of *schemas.Table) string {
		var conditions []string
		for _, column := range []string{"requested_school_bid", "school_bid"} {
			if of.Column(column) >= 0 {
				conditions = append(conditions, fmt.Sprintf("%s.%s IS DISTINCT FROM %s", row, column, literal(school)))
			}
		}
		if len(conditions) == 0 {
			return "true"
		}
		return strings.Join(conditions, " AND ")
	}
	if table == first {
		return stays("b", table)
	}
	var same []string
	for _, k := range first.KeyColumns() {
		name := first.Columns[k].Name
		same = append(same, fmt.Sprintf("p.%s IS NOT DISTINCT FROM b.%s", name, name))
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM before_%s AS p WHERE %s AND %s)", first.Name, strings.Join(same, " AND "), stays("p", first))
}
