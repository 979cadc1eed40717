package render

import (
	"cmp"
	"fmt"
	"strings"

	"example.org/growthexport/schemas"
)

// Lake describes Delta Lake tables behind views. The views for analysts need a date.
type Lake struct {
	Place

	// Date restricts the views to one snapshot, in the given versions of the tables. If it is empty, the views show all
	// snapshots, in the newest versions of the tables.
	Date   string
	Tables []LakeTable
}

// LakeTable is a Delta Lake table.
type LakeTable struct {
	*schemas.Table

	// View is the name of the view, and Folder the table's folder, relative to the destination.
	View, Folder string
	Version      int64
	// District has the same meaning as in SnapshotTable.
	District bool
}

// duckDBLake returns views of Delta Lake tables in DuckDB's dialect.
func duckDBLake(l *Lake) string {
	note := sessionComment(l.Session) + "-- The session needs the extension: INSTALL delta; LOAD delta;\n"
	return l.views(duckDBDialect(), note, func(t *LakeTable) string {
		version := ""
		if l.Date != "" {
			version = fmt.Sprintf(", version => %d", t.Version)
		}
		return "FROM delta_scan(" + duckDBText(l.Root+"/"+t.Folder) + version + ")"
	})
}

// sparkLake returns views of Delta Lake tables in the dialect of Spark SQL.
func sparkLake(l *Lake) string {
	return l.views(sparkDialect(l.Schema), "", func(t *LakeTable) string {
		query := "SELECT * FROM delta." + sparkName(l.hadoopRoot()+"/"+t.Folder)
		if l.Date != "" {
			query += fmt.Sprintf(" VERSION AS OF %d", t.Version)
		}
		return query
	})
}

// views returns the statements of a view of each table.
func (l *Lake) views(d *dialect, note string, query func(t *LakeTable) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s\n-- Written by growth-export sql --delta-lake: one view per Delta Lake table.\n%s%s", l.Title, note, l.createSchema(d))
	all := &Snapshot{Place: l.Place}
	all.Dates = []string{l.Date}
	where := ""
	if l.Date != "" {
		where = "\nWHERE " + partitionColumn + " = DATE " + d.text(l.Date)
	}
	for i := range l.Tables {
		t := &l.Tables[i]
		b.WriteString(d.createView(l.view(d, t.View), query(t)+where, &schemas.Table{Doc: t.Doc}))
		all.Tables = append(all.Tables, SnapshotTable{Table: t.Table, District: t.District})
	}
	all.moreViews(&b, d)
	return b.String()
}

// hadoopRoot returns the root of the destination in Spark's spelling.
func (p *Place) hadoopRoot() string { return cmp.Or(p.HadoopRoot, p.Root) }
