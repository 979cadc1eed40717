package render

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// The queries of the views for analysts, in the SQL that DuckDB and Spark share. In braces are:
//
//	{students}        a table or a view
//	{schools*}        a table; of a history, all versions of its rows, since old results may belong to a closed school
//	{valid_to}        in a history, the column valid_to after a comma
//	{newest schools}  in a history, the sort key that puts the newest versions of schools first
//	{grade_number x}  the grade x as a number
//	{columns}         the columns of the table test_results
//
//go:embed analysis/*.sql
var analysisQueries embed.FS

var placeholder = regexp.MustCompile(`\{(\w+)(\*?)(?: ([^}]+))?\}`)

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
		view := a.relation(t.Name)
		fmt.Fprintf(&b, "\n%s %s AS\n%s;\n", a.view, view, a.query(t))
		if a.commentOn != "" {
			fmt.Fprintf(&b, a.commentOn, view, a.text(t.Doc))
		}
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
		return t.Name == growthView && (!a.history || !a.has("test_results"))
	})
}

func (a *analysis) has(table string) bool {
	return slices.ContainsFunc(a.tables, func(t *schemas.Table) bool { return t.Name == table })
}

func (a *analysis) query(t *schemas.Table) string {
	switch t.Name {
	case extraView:
		return a.extraQuery()
	case columnsView:
		return a.columnsQuery()
	}
	text, err := analysisQueries.ReadFile("analysis/" + strings.TrimPrefix(t.Name, analysisPrefix) + ".sql")
	if err != nil {
		panic(err) // a mistake in this program
	}
	query := placeholder.ReplaceAllStringFunc(string(text), func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		return a.expand(m[1], m[2] != "", m[3])
	})
	return strings.TrimSuffix(query, "\n")
}

// expand returns what a placeholder stands for.
func (a *analysis) expand(name string, everyVersion bool, argument string) string {
	switch name {
	case "valid_to", "newest":
		switch {
		case !a.history:
			return ""
		case name == "newest":
			return argument + ".valid_to DESC, "
		}
		return ", valid_to"
	case "grade_number":
		return gradeNumber(argument)
	case "columns":
		var columns []string
		for _, c := range resultColumns() {
			columns = append(columns, "results."+c.Name)
		}
		return strings.Join(columns, ",\n    ")
	}
	t, _, isTable := schemas.FindTable(name)
	switch {
	case isTable && !a.has(name):
		if !slices.Contains(a.missing, name) {
			a.missing = append(a.missing, name)
		}
		return a.empty(t)
	case isTable && a.history && everyVersion:
		name += "_versions"
	case isTable && a.history:
		name += "_current"
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

// extraQuery counts the members in _extra.
func (a *analysis) extraQuery() string {
	var parts []string
	for _, t := range a.tables {
		if t.Column("_extra") >= 0 {
			parts = append(parts, fmt.Sprintf("    SELECT '%s' AS table_name, %s AS member FROM %s WHERE _extra IS NOT NULL",
				t.Name, fmt.Sprintf(a.keys, "_extra"), a.expand(t.Name, false, "")))
		}
	}
	return fmt.Sprintf("SELECT\n    table_name,\n    member,\n    count(*) AS records\nFROM (\n%s\n) AS members\nGROUP BY table_name, member",
		strings.Join(parts, "\n    UNION ALL\n"))
}

// columnsQuery returns the columns of the tables and of the views, with what they mean.
func (a *analysis) columnsQuery() string {
	var rows []string
	for _, t := range slices.Concat(a.tables, a.views()) {
		for _, c := range t.Columns {
			rows = append(rows, fmt.Sprintf("    (%s, %s, %s, %t, %s, %s)",
				a.text(t.Name), a.text(c.Name), a.text(c.Type.String()), c.Key, a.text(string(c.Class)), a.text(c.Doc)))
		}
	}
	return "SELECT *\nFROM (VALUES\n" + strings.Join(rows, ",\n") + "\n) AS declared (table_name, column_name, type, part_of_key, class, meaning)"
}
