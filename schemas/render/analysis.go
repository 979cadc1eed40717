package render

import (
	"fmt"
	"slices"
	"strings"
	"text/template"

	"example.org/growthexport/schemas"
)

// analysis writes the views for analysts over the tables of a snapshot or of a history.
type analysis struct {
	*dialect

	// relation returns the name of a table or a view in a query.
	relation func(name string) string
	// tables are those that are there; history means that they have the rows of a history.
	tables  []*schemas.Table
	history bool
	// missing are the tables that queries have replaced by empty ones.
	missing []string
}

const analysisHeader = `
-- Views for analysts: each school, term, student, class, member of a class and test result is one row, though the service
-- repeats them for schools and perspectives. Students, classes and members without an identifier are left out.
`

// statements returns the statements that create the views.
func (a *analysis) statements() string {
	var b strings.Builder
	for _, t := range a.views() {
		b.WriteString(a.createView(a.relation(t.Name), a.query(t), t.Doc))
	}
	header := analysisHeader
	if len(a.missing) > 0 {
		header += "-- These tables were not exported, so their columns are null: " + strings.Join(a.missing, ", ") + ".\n"
	}
	return header + b.String()
}

// views returns the views that the tables allow. Growth needs a history of test results.
func (a *analysis) views() []*schemas.Table {
	return slices.DeleteFunc(analysisTables(), func(t *schemas.Table) bool {
		return t.Name == growthView && (!a.history || !a.has(schemas.TestResults))
	})
}

func (a *analysis) has(table string) bool {
	return slices.ContainsFunc(a.tables, func(t *schemas.Table) bool { return t.Name == table })
}

func (a *analysis) query(t *schemas.Table) string {
	ifHistory := func(text string) string {
		if a.history {
			return text
		}
		return ""
	}
	return query(t.Name, template.FuncMap{
		// A table or a view. In a history, old results may belong to a closed school, which every_version has.
		"table":         func(name string) string { return a.source(name, "_current") },
		"every_version": func(name string) string { return a.source(name, "_versions") },
		// In a history, the column valid_to after a comma, and the sort key that puts the newest versions of a relation
		// first.
		"valid_to": func() string { return ifHistory(", valid_to") },
		"newest":   func(relation string) string { return ifHistory(relation + ".valid_to DESC, ") },
		// The grade as a number.
		"grade_number":   gradeNumber,
		"result_columns": func() string { return resultColumnNames().Lines("results.") },
		"json_keys":      func(column string) string { return fmt.Sprintf(a.keys, column) },
		"with_extra":     a.withExtra,
		"declared":       a.declared,
	}, nil)
}

// source returns a table or a view in a query. A table of a history is one of its views.
func (a *analysis) source(name, view string) string {
	t, _, isTable := schemas.FindTable(name)
	switch {
	case isTable && !a.has(name):
		if !slices.Contains(a.missing, name) {
			a.missing = append(a.missing, name)
		}
		return a.empty(t)
	case isTable && a.history:
		name += view
	}
	return a.relation(name)
}

// empty returns a query in parentheses with the table's columns and no rows.
func (a *analysis) empty(t *schemas.Table) string {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, "CAST(NULL AS "+a.kind(c.Type)+") AS "+a.name(c.Name))
	}
	if a.history {
		columns = append(columns, "CAST(NULL AS DATE) AS "+validTo)
	}
	return "(SELECT " + strings.Join(columns, ", ") + " WHERE 1 = 0)"
}

// gradeNumber returns the expression of a grade as a number. Other grades than the usual ones have none.
func gradeNumber(grade string) string {
	var usual []string
	for n := 1; n <= lastGrade; n++ {
		usual = append(usual, fmt.Sprintf("'%d'", n))
		if n < 10 {
			usual = append(usual, fmt.Sprintf("'%02d'", n))
		}
	}
	grade = "upper(trim(" + grade + "))"
	return fmt.Sprintf("CASE WHEN %[1]s = 'PK' THEN -1 WHEN %[1]s = 'K' THEN 0\n"+
		"        WHEN %[1]s IN (%[2]s) THEN CAST(%[1]s AS INTEGER) END", grade, strings.Join(usual, ", "))
}

// withExtra returns the names of the tables that have a column _extra.
func (a *analysis) withExtra() []string {
	var tables []string
	for _, t := range a.tables {
		if t.Column("_extra") >= 0 {
			tables = append(tables, t.Name)
		}
	}
	return tables
}

// declared returns the columns of the tables and of the views, with what they mean.
func (a *analysis) declared() []string {
	var rows []string
	for _, t := range slices.Concat(a.tables, a.views()) {
		for _, c := range t.Columns {
			rows = append(rows, fmt.Sprintf("%s, %s, %s, %t, %s, %s",
				a.text(t.Name), a.text(c.Name), a.text(c.Type.String()), c.Key, a.text(string(c.Class)), a.text(c.Doc)))
		}
	}
	return rows
}

func resultColumnNames() (all names) {
	for _, c := range resultColumns() {
		all = append(all, c.Name)
	}
	return all
}
