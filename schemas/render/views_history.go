package render

import (
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// The columns of a history besides a table's own. valid_to is its partition column.
const (
	validFrom    = "valid_from"
	validTo      = "valid_to"
	endedBecause = "ended_because"
)

// versions returns the description of the views of all versions.
func (s *Snapshot) versions() *Snapshot {
	if !s.History {
		return s
	}
	all := *s
	all.Tables = slices.Clone(s.Tables)
	for i := range all.Tables {
		table := *all.Tables[i].Table
		table.Name += "_versions"
		table.Doc = "Every version of every row. " + table.Doc
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

// dialect is how views over other views are written.
type dialect struct {
	name, text func(string) string
	kind       func(schemas.Type) string
	// view starts a statement that creates a view, and asOf one that creates a table function of a date d, whose name is
	// %s. commentOn is a statement that documents a view, if there is one.
	view, asOf, commentOn string
	// structOf is a struct of members, each of which is a field: a name and a value.
	structOf, field string
	// keys returns a row for each name in a JSON object, %s.
	keys string
}

// createView returns the statements that create a view and document it.
func (d *dialect) createView(view, query, doc string) string {
	text := fmt.Sprintf("\n%s %s AS\n%s;\n", d.view, view, query)
	if d.commentOn != "" {
		text += fmt.Sprintf(d.commentOn, view, d.text(doc))
	}
	return text
}

// moreViews writes the views over the views of files: for a history, and for analysts.
func (s *Snapshot) moreViews(b *strings.Builder, d *dialect) {
	if s.History {
		s.historyViews(b, d)
	}
	if s.Analysis {
		a := &analysis{dialect: d, history: s.History, relation: func(name string) string { return s.view(d, name) }}
		for i := range s.Tables {
			if _, _, declared := schemas.FindTable(s.Tables[i].Name); declared {
				a.tables = append(a.tables, s.Tables[i].Table)
			}
		}
		b.WriteString(a.statements())
	}
}

// historyViews returns the views of each table of a history, or of the table named by of, in their order.
func historyViews() []struct{ name, query, of string } {
	return []struct{ name, query, of string }{
		{name: "_current", query: "current"},
		{name: "_as_of", query: "as_of"},
		{name: "_changes", query: "changes"},
		{name: resultsEverView, query: resultsEverView, of: schemas.TestResults},
		{name: growthPairsView, query: growthPairsView, of: schemas.TestResults},
	}
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
		for _, view := range historyViews() {
			name := t.Name + view.name
			if view.of != "" {
				name = view.name
			}
			if view.of != "" && view.of != t.Name {
				continue
			}
			begin := d.view + " " + s.view(d, name) + " AS"
			if view.query == "as_of" {
				begin = fmt.Sprintf(d.asOf, s.view(d, name))
			}
			fmt.Fprintf(b, "\n%s\n%s;\n", begin, query(view.query, nil, data))
		}
	}
}

// versions is the data of the queries over all versions of a table's rows.
type versions struct {
	Versions, Ever string // relations
	Columns, Keys  names
	Before         string // a struct of the columns of before
	Child          bool   // rows have no identity
	Repeats        bool   // several rows may have one key
	At             string // see In
}

// In returns the data for versions that begin or end on one day for one reason, which are columns or NULL.
func (v versions) In(at string) versions {
	v.At = at
	return v
}

func (s *Snapshot) versionsOf(t *schemas.Table, d *dialect) versions {
	v := versions{
		Versions: s.view(d, t.Name+"_versions"), Ever: s.view(d, resultsEverView),
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
