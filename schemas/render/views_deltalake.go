package render

import (
	"cmp"
	"fmt"
	"strings"

	"example.org/growthexport/schemas"
)

// Lake describes Delta Lake tables behind views.
type Lake struct {
	// Title describes the tables in one line, for a comment.
	Title string
	// Schema is the schema of the views; empty for the current one.
	Schema string
	// Root is the absolute path or the URL of the destination, without a trailing slash.
	Root string
	// HadoopRoot and Session are as in Snapshot.
	HadoopRoot, Session string
	// Date restricts the views to one snapshot, and pins them to the versions of the tables; empty for all snapshots in
	// the newest versions.
	Date string
	// Analysis adds the views for analysts, which need a date.
	Analysis bool
	Tables   []LakeTable
}

// LakeTable is a Delta Lake table.
type LakeTable struct {
	*schemas.Table

	// View is the name of the view, and Folder the table's folder, relative to the destination.
	View, Folder string
	Version      int64
}

const lakeHeader = "-- %s\n-- Written by growth-export sql --delta-lake: one view per Delta Lake table.\n"

// duckDBLake returns views of Delta Lake tables in DuckDB's dialect.
func duckDBLake(l *Lake) string {
	var b strings.Builder
	fmt.Fprintf(&b, lakeHeader, l.Title)
	b.WriteString(sessionComment(l.Session))
	b.WriteString("-- The session needs the extension: INSTALL delta; LOAD delta;\n")
	if l.Schema != "" {
		fmt.Fprintf(&b, "\nCREATE SCHEMA IF NOT EXISTS %s;\n", duckDBName(l.Schema))
	}
	for i := range l.Tables {
		t := &l.Tables[i]
		view := viewName(&Snapshot{Schema: l.Schema}, t.View, duckDBName)
		version, where := "", ""
		if l.Date != "" {
			version = fmt.Sprintf(", version => %d", t.Version)
			where = fmt.Sprintf("\nWHERE %s = DATE %s", partitionColumn, duckDBText(l.Date))
		}
		fmt.Fprintf(&b, "\nCREATE OR REPLACE VIEW %s AS\nFROM delta_scan(%s%s)%s;\nCOMMENT ON VIEW %s IS %s;\n",
			view, duckDBText(l.Root+"/"+t.Folder), version, where, view, duckDBText(t.Doc))
	}
	l.snapshot().moreViews(&b, duckDBDialect())
	return b.String()
}

// snapshot returns the tables as a snapshot, for views over the views of tables.
func (l *Lake) snapshot() *Snapshot {
	s := &Snapshot{Schema: l.Schema, Analysis: l.Analysis}
	for i := range l.Tables {
		s.Tables = append(s.Tables, SnapshotTable{Table: l.Tables[i].Table})
	}
	return s
}

// sparkLake returns views of Delta Lake tables in the dialect of Spark SQL.
func sparkLake(l *Lake) string {
	var b strings.Builder
	fmt.Fprintf(&b, lakeHeader, l.Title)
	d := sparkDialect(l.Schema)
	if l.Schema != "" {
		fmt.Fprintf(&b, "\nCREATE SCHEMA IF NOT EXISTS %s;\n", sparkName(l.Schema))
	}
	for i := range l.Tables {
		t := &l.Tables[i]
		version, where := "", ""
		if l.Date != "" {
			version = fmt.Sprintf(" VERSION AS OF %d", t.Version)
			where = fmt.Sprintf("\nWHERE %s = DATE %s", partitionColumn, sparkText(l.Date))
		}
		fmt.Fprintf(&b, "\n%s %s AS\nSELECT * FROM delta.%s%s%s;\n", d.view, viewName(&Snapshot{Schema: l.Schema}, t.View, sparkName),
			sparkName(cmp.Or(l.HadoopRoot, l.Root)+"/"+t.Folder), version, where)
	}
	l.snapshot().moreViews(&b, d)
	return b.String()
}
