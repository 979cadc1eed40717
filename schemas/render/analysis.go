package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"example.org/growthexport/schemas"
)

// Views selects the views that are printed in addition to the views of tables.
type Views int

// Each kind of views includes the kinds before it.
const (
	TableViews Views = iota
	AnalysisViews
	SectorViews
)

// analysis writes the views for analysts and for other programs, over the tables of a snapshot or of a history.
type analysis struct {
	*dialect

	place *Place
	// relation returns the name of a table or a view in a query.
	relation func(name string) string
	// tables are the exported tables. history is true if they have the rows of a history.
	tables  []*schemas.Table
	history bool
	// days is a relation with the snapshot dates in its column day.
	days string
	// norms is the file of the growth norms, or empty if there is no such file.
	norms  string
	sector bool
	// described are the views of the exported tables. The view of columns describes them too.
	described []*schemas.Table
	// missing are the tables for which queries use empty relations.
	missing []string
}

const analysisHeader = `
-- Views for analysts: each school, term, student, class, member of a class and test result is one row, although the
-- service repeats them for schools and perspectives. Students, classes and members without an identifier are left out:
-- students without student_bid are in the table students only.
`

// statements returns the statements that create the views.
func (a *analysis) statements() string {
	var b strings.Builder
	if a.norms != "" {
		b.WriteString(a.normsBefore(a.relation(normsFile), a.norms))
	}
	for _, t := range a.views() {
		b.WriteString(a.createView(a.relation(t.Name), a.query(t), a.noted(t)))
	}
	header := analysisHeader
	if len(a.missing) > 0 {
		header += "-- These tables were not exported, so views of their records have no rows, and columns from them are null: " + strings.Join(a.missing, ", ") + ".\n"
	}
	if a.history {
		header += "-- Schools that were not read for the newest snapshot keep their last rows, in which school_read is false.\n"
	} else {
		header += "-- Views of growth have no rows: a snapshot has one result per student and subject. Use sql --history.\n"
	}
	if a.norms == "" {
		header += "-- Columns that need growth norms are null. To fill them, use sql --norms FILE.\n"
	}
	return header + b.String()
}

// views returns the views that can be made from the tables. Growth needs a history of test results.
func (a *analysis) views() []*schemas.Table {
	views := slices.DeleteFunc(analysisTables(), func(t *schemas.Table) bool {
		return t.Name == growthView && (!a.history || !a.has(schemas.TestResults))
	})
	if a.sector {
		views = slices.Concat(views, sectorTables())
	}
	// The view of columns describes all other views.
	last := slices.IndexFunc(views, func(t *schemas.Table) bool { return t.Name == columnsView })
	return append(slices.Delete(slices.Clone(views), last, last+1), views[last])
}

// noted returns the view's declaration with notes: on the view if it is empty for lack of a history, and on each column
// that is null or incomplete because of the privacy profile or because a table was not exported.
func (a *analysis) noted(t *schemas.Table) *schemas.Table {
	noted := *a.place.noted(t)
	if !a.history && slices.Contains(growthSpanViews(), t.Name) {
		noted.Doc += " No rows here: a snapshot has one result per student and subject, so growth needs the history (sql --history)."
	}
	for i, c := range noted.Columns {
		if c.Under(a.place.Profile) != schemas.Withhold {
			noted.Columns[i].Doc += a.noteOn(c)
		}
	}
	return &noted
}

// noteOn returns a note on a column if a table from which its values come was not exported, and otherwise an empty
// text.
func (a *analysis) noteOn(c schemas.Column) string {
	var exported, missing []string
	for source := range strings.FieldsSeq(c.Source) {
		table, dataset, ok := schemas.FindTable(source)
		switch {
		case !ok:
		case a.has(table.Name):
			exported = append(exported, dataset.Name)
		default:
			missing = append(missing, dataset.Name)
		}
	}
	switch {
	case len(missing) == 0:
		return ""
	case len(exported) > 0:
		return " Null here unless " + strings.Join(exported, " or ") + " has it: the dataset " + strings.Join(missing, " or ") + " was not exported."
	default:
		return " Null here: the dataset " + strings.Join(missing, " or ") + " was not exported."
	}
}

// growthSpanViews returns the names of the views of growth from one term to another.
func growthSpanViews() []string {
	return []string{analysisPrefix + "growth_spans", analysisPrefix + "growth_summary", analysisPrefix + "class_growth"}
}

func (a *analysis) has(table string) bool {
	return slices.ContainsFunc(a.tables, func(t *schemas.Table) bool { return t.Name == table })
}

// ever is the argument that makes template functions select results of any day.
const ever = "ever"

func (a *analysis) query(t *schemas.Table) string {
	ifHistory := func(text string) string {
		if a.history {
			return text
		}
		return ""
	}
	isEver := func(when string) bool { return a.history && a.has(schemas.TestResults) && when == ever }
	return query(t.Name, template.FuncMap{
		// A table or a view. In a history, every_version also has versions that have ended, such as those of closed
		// schools, to which old results may belong.
		"table":         func(name string) string { return a.source(name, "_current") },
		"every_version": func(name string) string { return a.source(name, "_versions") },
		// The test results, of any day if there is a history and when is "ever".
		"ever": isEver,
		"results": func(when string) string {
			if isEver(when) {
				return a.relation(resultsEverView)
			}
			return a.source(schemas.TestResults, "_current")
		},
		"history": func() bool { return a.history },
		// In a history, the column valid_to after a comma, and the sort key that puts the newest versions of a relation
		// first.
		"valid_to": func() string { return ifHistory(", valid_to") },
		"newest":   func(relation string) string { return ifHistory(relation + ".valid_to DESC, ") },
		// The snapshot dates, and whether a row of a relation is valid on one of these days.
		"days": func() string { return a.days },
		"valid_on": func(relation, day string) string {
			return cmp.Or(ifHistory(fmt.Sprintf("%[1]s.valid_from <= %[2]s AND %[1]s.valid_to > %[2]s", relation, day)), "true")
		},
		// The grade as a number.
		"grade_number":   gradeNumber,
		"result_columns": func() string { return resultColumnNames().Lines("results.") },
		"json_keys":      func(column string) string { return fmt.Sprintf(a.keys, column) },
		"member":         func(column, name string) string { return fmt.Sprintf(a.member, column, name) },
		"joined":         func(expression string) string { return fmt.Sprintf(a.joined, expression) },
		"string":         func() string { return a.kind(schemas.String) },
		"with_extra":     a.withExtra,
		"declared":       a.declared,
		"has":            a.has,
		"norms_file":     a.normsFile,
		"list":           func(items ...string) []string { return items },
		"spans":          spans,
		"goals":          func() []int { return upTo(goals) },
		"studies":        func() []int { return upTo(studies) },
		// The day and the time in UTC, regardless of the session's time zone.
		"utc_day":  func(column string) string { return fmt.Sprintf(a.utcDay, column) },
		"utc_date": func(column string) string { return fmt.Sprintf(a.utcDate, column) },
		"utc_time": func(column string) string { return fmt.Sprintf(a.utcTime, column) },
		// Numbers as text: with two decimals, and with as many as they need.
		"two_decimals": func(number string) string { return a.numberText(number, "%s") },
		"plain_number": func(number string) string { return a.numberText(number, "regexp_replace(%s, '[.]?0+$', '')") },
	}, nil)
}

// numberText returns an SQL expression that formats a number as text with two decimals, to which it applies the format
// usual. The expression rounds to whole hundredths before it formats, because engines round numbers such as 0.125
// differently. Very large numbers have an exponent, such as 1E30, which the engines by themselves would write as 1e+30
// or 1.0E30. Infinite numbers and NaN become null.
func (a *analysis) numberText(number, usual string) string {
	decimals := fmt.Sprintf("CAST(CAST(floor(%s * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS %s)", number, a.kind(schemas.String))
	return fmt.Sprintf("CASE\n        WHEN abs(%[1]s) < 1e16 THEN %[2]s\n"+
		"        WHEN abs(%[1]s) <= 1.7976931348623157e308 THEN regexp_replace(CAST(%[1]s AS %[3]s), '([.]0)?(e[+]|E)', 'E')\n    END",
		number, fmt.Sprintf(usual, decimals), a.kind(schemas.String))
}

// source returns the name of a table or a view in a query, or an empty relation for a table that was not exported. In a
// history, it returns the table's view with the suffix view.
func (a *analysis) source(name, view string) string {
	t, _, isTable := schemas.FindTable(name)
	switch {
	case isTable && !a.has(name):
		if !slices.Contains(a.missing, name) {
			a.missing = append(a.missing, name)
		}
		return a.empty(t.Columns)
	case isTable && a.history:
		name += view
	}
	return a.relation(name)
}

// empty returns a query in parentheses that has the columns and no rows.
func (a *analysis) empty(columns []schemas.Column) string {
	var nulls []string
	for _, c := range columns {
		nulls = append(nulls, "CAST(NULL AS "+a.kind(c.Type)+") AS "+a.name(c.Name))
	}
	if a.history {
		nulls = append(nulls, "CAST(NULL AS DATE) AS "+validFrom, "CAST(NULL AS DATE) AS "+validTo)
	}
	return "(SELECT " + strings.Join(nulls, ", ") + " WHERE 1 = 0)"
}

// normsFile returns the relation of the file of norms. If there is no file, the relation has no rows.
func (a *analysis) normsFile() string {
	if a.norms == "" {
		var columns []schemas.Column
		for _, name := range NormsColumns() {
			columns = append(columns, schemas.Column{Name: name, Type: schemas.String})
		}
		return a.empty(columns)
	}
	return a.readNorms(a.relation(normsFile), a.norms)
}

// gradeNumber returns an SQL expression for a grade as a number, which is null for unusual grades.
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

// declared returns an SQL row for each column of all tables and views, with the column's meaning.
func (a *analysis) declared() []string {
	var rows []string
	for _, t := range slices.Concat(a.described, a.views()) {
		for _, c := range a.noted(t).Columns {
			rows = append(rows, fmt.Sprintf("%s, %s, %s, %t, %s, %s",
				a.text(t.Name), a.text(c.Name), a.text(kindName(c)), c.Key, a.text(string(c.Class)), a.text(c.Doc)))
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
