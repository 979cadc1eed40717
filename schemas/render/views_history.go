package render

import (
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// The columns that a history adds to a table's own. valid_to is its partition column.
const (
	validFrom    = "valid_from"
	validTo      = "valid_to"
	endedBecause = "ended_because"
)

// versions returns the description of the views of all versions of a history, without the partition column. For a
// snapshot, it returns s.
func (s *Snapshot) versions() *Snapshot {
	if !s.History {
		return s
	}
	all := *s
	all.Tables = slices.Clone(s.Tables)
	for i := range all.Tables {
		table := *versionsTable(all.Tables[i].Table)
		table.Columns = all.Tables[i].Columns
		all.Tables[i].Table = &table
	}
	return &all
}

// partitionColumn returns the partition column of the files.
func (s *Snapshot) partitionColumn() string {
	if s.History {
		return validTo
	}
	return partitionColumn
}

// dialect describes how views over other views are written for an engine.
type dialect struct {
	name, text func(string) string
	kind       func(schemas.Type) string
	// view starts a statement that creates a view. asOf starts a statement that creates a table function of a date d, and
	// %s is the name of the function.
	view, asOf string
	// createView returns the statements that create a view and document it and its columns.
	createView func(view, query string, t *schemas.Table) string
	// structOf is a struct of members, each of which is a field: a name and a value.
	structOf, field string
	// keys returns a row for each name in the JSON object %s. member returns the text of the object's member of a given
	// name.
	keys, member string
	// joined aggregates the distinct texts of a group in sorted order. The result is null if all of the texts are null.
	joined string
	// utcDay is the day of a timestamp in UTC. utcDate and utcTime are its day as MM/DD/YYYY and its time as HH:MM:SS,
	// also in UTC.
	utcDay, utcDate, utcTime string
	// readNorms returns the relation of a file of norms. normsBefore returns the statements that must create a view of the
	// file first, if any.
	normsBefore, readNorms func(view, path string) string
}

// moreViews writes the views over the views of files: for a history, and for analysts.
func (s *Snapshot) moreViews(b *strings.Builder, d *dialect) {
	if s.History {
		s.historyViews(b, d)
	}
	if s.Views == TableViews {
		return
	}
	a := &analysis{
		dialect: d, place: &s.Place, history: s.History, norms: s.Norms, sector: s.Views == SectorViews, days: daysOf(s.Dates),
		relation: func(name string) string { return s.view(d, name) },
	}
	for i := range s.Tables {
		t := s.Tables[i].Table
		if _, _, declared := schemas.FindTable(t.Name); declared {
			a.tables = append(a.tables, t)
		}
		if s.History {
			a.described = append(a.described, versionsTable(t))
			for _, view := range viewsOf(t) {
				a.described = append(a.described, view.table(t))
			}
		} else {
			a.described = append(a.described, s.Tables[i].described(s))
		}
	}
	b.WriteString(a.statements())
}

// daysOf returns a relation of dates in the column day.
func daysOf(dates []string) string {
	var rows []string
	for _, date := range dates {
		rows = append(rows, "(DATE '"+date+"')")
	}
	if len(rows) == 0 {
		return "(SELECT CAST(NULL AS DATE) AS day WHERE 1 = 0) AS days"
	}
	return "(VALUES " + strings.Join(rows, ", ") + ") AS days (day)"
}

// historyView is a view over the versions of a table.
type historyView struct {
	name  string // the name of the view, or its suffix after the table's name
	query string
	of    string // the only table that has the view; empty if all tables have it
	doc   string
	// columns returns the columns of the view of a table.
	columns func(t *schemas.Table) []schemas.Column
}

// historyViews returns the views of the tables of a history, in their order.
func historyViews() []historyView {
	current := func(t *schemas.Table) []schemas.Column { return versionsTable(t).Columns }
	return []historyView{
		{
			name: "_current", query: "current", columns: current,
			doc: "The versions that have not ended: the rows of the newest snapshot that covers their school.",
		},
		{
			name: "_as_of", query: "as_of", columns: current,
			doc: "A function of a date, which returns the versions that were valid on that date.",
		},
		{
			name: "_changes", query: "changes", columns: changesColumns,
			doc: "One row per row that was inserted, updated or deleted on a snapshot date. The rows of the first date are inserts.",
		},
		{
			name: resultsEverView, query: resultsEverView, of: schemas.TestResults, columns: everColumns,
			doc: "One row per test result that was in any snapshot: the version that has not ended, or else the last one.",
		},
		{
			name: growthPairsView, query: growthPairsView, of: schemas.TestResults, columns: pairsColumns,
			doc: "One row per pair of consecutive results of a student in a subject, by start time, if their terms differ.",
		},
	}
}

// viewsOf returns the views of a table.
func viewsOf(t *schemas.Table) []historyView {
	return slices.DeleteFunc(historyViews(), func(view historyView) bool { return view.of != "" && view.of != t.Name })
}

// table returns the declaration of the view of a table.
func (view historyView) table(t *schemas.Table) *schemas.Table {
	name := t.Name + view.name
	if view.of != "" {
		name = view.name
	}
	return &schemas.Table{Name: name, Doc: view.doc, Columns: view.columns(t)}
}

// The names of views over the history of test results.
const (
	resultsEverView = "test_results_ever"
	growthPairsView = "growth_pairs"
)

// historyViews writes the views of a history over the views of all versions.
func (s *Snapshot) historyViews(b *strings.Builder, d *dialect) {
	for i := range s.Tables {
		t := s.Tables[i].Table
		data := s.versionsOf(t, d)
		for _, view := range viewsOf(t) {
			declared := view.table(t)
			name, rows := s.view(d, declared.Name), query(view.query, nil, data)
			if view.query == "as_of" {
				fmt.Fprintf(b, "\n%s\n%s;\n", fmt.Sprintf(d.asOf, name), rows)
				continue
			}
			b.WriteString(d.createView(name, rows, s.noted(declared)))
		}
	}
}

// versionsTable returns the declaration of the view of all versions of a table of a history.
func versionsTable(t *schemas.Table) *schemas.Table {
	columns := slices.Concat(t.Columns, validToColumn())
	if i := t.Column("ordinal"); i >= 0 {
		columns[i].Doc += " In the history, it is the element's position on the date on which it was first seen, so several elements may have the same ordinal."
		columns[i].Key = false
	}
	return &schemas.Table{Name: t.Name + "_versions", Doc: "Every version of every row. " + t.Doc, Columns: columns}
}

func validToColumn() []schemas.Column {
	return derived(validTo, schemas.Date, schemas.None,
		"The snapshot date from which the version is no longer valid; 9999-12-31 if it has not ended.")
}

// ownColumns returns the columns that a table of a history has in a snapshot.
func ownColumns(t *schemas.Table) []schemas.Column {
	return versionsTable(t).Columns[:t.Column(validFrom)]
}

// changesColumns returns the columns of the view of changes. On one day, an element of a list may be both deleted and
// inserted at the same position.
func changesColumns(t *schemas.Table) []schemas.Column {
	return slices.Concat(
		key(derived("day", schemas.Date, schemas.None, "The snapshot date that first shows the change.")),
		key(text("change", "insert, update or delete.")),
		text("because", "Why the row, or the version before an update, ended: changed or removed; for test results also moved, superseded, aged_out, "+
			"left_roster or unexplained."),
		ownColumns(t),
		[]schemas.Column{{Name: "before", Class: schemas.None, Doc: "The row's columns before an update; null for other changes."}},
	)
}

// everColumns returns the columns of the view of all results ever seen.
func everColumns(t *schemas.Table) []schemas.Column {
	versions := versionsTable(t)
	column := func(name string) []schemas.Column {
		c := versions.Columns[versions.Column(name)]
		c.Key = false
		return []schemas.Column{c}
	}
	return slices.Concat(ownColumns(t), column(validFrom), column(validTo), column(endedBecause),
		derived("standing", schemas.Boolean, schemas.None, "Whether the version has not ended: the service still returned the result when its school was last read."))
}

// pairsColumns returns the columns of the view of consecutive results.
func pairsColumns(*schemas.Table) []schemas.Column {
	columns := copied(schemas.TestResults, "student_bid", "subject_area")
	for _, name := range []string{"test_result_bid", "term_bid", "rit", "administration_start_date_time"} {
		for _, end := range [][2]string{{"from_", "Earlier result: "}, {"to_", "Later result: "}} {
			c := copied(schemas.TestResults, name)[0]
			c.Name, c.Doc = end[0]+name, end[1]+lowerFirst(c.Doc)
			columns = append(columns, c)
		}
	}
	return append(columns, derived("growth", schemas.Int64, schemas.Score, "Later score minus earlier score, in RIT.")...)
}

// kindName returns the name of a column's type.
func kindName(c schemas.Column) string {
	if c.Type == 0 {
		return "struct"
	}
	return c.Type.String()
}

// versions is the data of the queries over all versions of a table's rows.
type versions struct {
	Versions, Ever string // relations
	Columns, Keys  names
	Before         string // a struct of the columns of before
	Child          bool   // rows do not have an identifier of their own
	Repeats        bool   // several rows may have the same key
	At             string // see In
	Since          string // as in Snapshot
}

// In returns the data for versions that begin or end on one day for one reason. at lists the column of the day and the
// column of the reason, which may be NULL.
func (v versions) In(at string) versions {
	v.At = at
	return v
}

func (s *Snapshot) versionsOf(t *schemas.Table, d *dialect) versions {
	v := versions{
		Versions: s.view(d, t.Name+"_versions"), Ever: s.view(d, resultsEverView), Since: s.Since,
	}
	var fields []string
	for _, c := range t.Columns[:t.Column(validFrom)] {
		name := d.name(c.Name)
		v.Columns = append(v.Columns, name)
		if c.Key {
			v.Keys = append(v.Keys, name)
		}
		v.Child = v.Child || c.Source == schemas.SourceOrdinal
		fields = append(fields, fmt.Sprintf(d.field, d.text(c.Name), "before."+name))
	}
	v.Before = fmt.Sprintf(d.structOf, strings.Join(fields, ",\n        "))
	if _, dataset, ok := schemas.FindTable(t.Name); ok && !v.Child {
		v.Repeats = dataset.WholeRecordDuplicates
	}
	return v
}
