package render

import (
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// DuckLake returns a script for DuckDB that writes a DuckLake catalogue of the tables of all snapshots.
func DuckLake(s *Snapshot) string {
	d := duckDBDialect()
	functions := d.functions()
	functions["described"] = func(t SnapshotTable) *schemas.Table { return t.described(s) }
	functions["path"] = func(t SnapshotTable, file string) string { return DuckDBPath(s.Root, t.Folder+"/"+file) }
	functions["session"] = func() string { return sessionComment(s.Session) }
	functions["kept"] = func() string {
		columns := append(slices.Clone(schemas.BoundedColumns()), districtColumn, partitionColumn)
		for i := range columns {
			columns[i] = d.text(columns[i])
		}
		return strings.Join(columns, ", ")
	}
	return fill("text/ducklake.sql.tmpl", functions, s)
}
