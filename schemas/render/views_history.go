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
	// never is valid_to of a version that has not ended.
	never = "DATE '9999-12-31'"
)

const historyHeader = `-- %s
-- Written by growth-export sql --history, over exactly the files in the history's manifest. The views are pinned to these
-- files; regenerate them after the next growth-export history. For each table:
--   <table>_versions  every version of every row. A version is valid on each date from valid_from up to the day before
--                     valid_to, which is 9999-12-31 for a version that has not ended.
--   <table>_current   the versions that have not ended
--   <table>_as_of(d)  the versions that are valid on a date: SELECT * FROM students_as_of(DATE '2026-11-20')
--   <table>_changes   the rows inserted, updated and deleted on each day
-- A school that could not be read keeps its last rows; coverage_as_of(d) says which schools and datasets were read.
`

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

// moreViews writes the views over the views of files: for a history, and for analysts.
func (s *Snapshot) moreViews(b *strings.Builder, d *dialect) {
	if s.History {
		s.historyViews(b, d)
	}
	if s.Analysis {
		a := &analysis{dialect: d, history: s.History, relation: func(name string) string { return viewName(s, name, d.name) }}
		for i := range s.Tables {
			if _, _, declared := schemas.FindTable(s.Tables[i].Name); declared {
				a.tables = append(a.tables, s.Tables[i].Table)
			}
		}
		b.WriteString(a.statements())
	}
}

// historyViews writes the views of a history over the views of all versions.
func (s *Snapshot) historyViews(b *strings.Builder, d *dialect) {
	for i := range s.Tables {
		t := *s.Tables[i].Table
		t.Columns = t.Columns[:t.Column(validFrom)]
		view := func(name, query string) {
			fmt.Fprintf(b, "\n%s %s AS\n%s;\n", d.view, viewName(s, name, d.name), query)
		}
		versions := viewName(s, t.Name+"_versions", d.name)
		view(t.Name+"_current", "SELECT * FROM "+versions+" WHERE "+validTo+" = "+never)
		fmt.Fprintf(b, "\n"+d.asOf+"\nSELECT * FROM %s WHERE %s <= CAST(d AS DATE) AND %s > CAST(d AS DATE);\n",
			viewName(s, t.Name+"_as_of", d.name), versions, validFrom, validTo)
		view(t.Name+"_changes", changes(&t, versions, d))
		if t.Name == "test_results" {
			view("test_results_ever", ever(&t, versions, d))
			view("growth_pairs", fmt.Sprintf(growthPairs, viewName(s, "test_results_ever", d.name)))
		}
	}
}

// changes returns the query of what changed on each day. An update ends one version and begins another with the same key.
// Rows of child tables have no identity, so they are never updated.
func changes(t *schemas.Table, versions string, d *dialect) string {
	var after, fields []string
	for i := range t.Columns {
		name := d.name(t.Columns[i].Name)
		after = append(after, "after."+name)
		fields = append(fields, fmt.Sprintf(d.field, d.text(t.Columns[i].Name), "before."+name))
	}
	begun, ended, updated := updates(t, versions, d)
	deleted := versions + " AS after\nWHERE " + validTo + " < " + never
	if updated != "false" {
		deleted = "(\n" + deletedVersions(t, versions, d) + "\n) AS after"
	}
	return fmt.Sprintf(`SELECT
    after.%[1]s AS day,
    CASE WHEN before.%[2]s IS NULL THEN 'insert' ELSE 'update' END AS change,
    before.%[3]s AS because,
    %[4]s,
    CASE WHEN before.%[2]s IS NOT NULL THEN %[5]s END AS before
FROM %[6]s AS after LEFT JOIN %[7]s AS before ON %[8]s
UNION ALL
SELECT
    %[2]s,
    'delete',
    %[3]s,
    %[4]s,
    NULL
FROM %[9]s`,
		validFrom, validTo, endedBecause, strings.Join(after, ",\n    "),
		fmt.Sprintf(d.structOf, strings.Join(fields, ",\n        ")), begun, ended, updated, deleted)
}

// deletedVersions returns the query of the versions that ended without an update. A version that has changed is one of them
// if a purge has removed the next one.
func deletedVersions(t *schemas.Table, versions string, d *dialect) string {
	same := []string{"next." + validFrom + " = ended." + validTo}
	for i := range t.Columns {
		if name := d.name(t.Columns[i].Name); t.Columns[i].Key {
			same = append(same, "next."+name+" = ended."+name)
		}
	}
	return fmt.Sprintf(`    SELECT * FROM %[1]s WHERE %[2]s < %[3]s AND %[4]s <> '%[5]s'
    UNION ALL
    SELECT * FROM %[1]s AS ended WHERE %[4]s = '%[5]s' AND NOT EXISTS (
        SELECT 1 FROM %[1]s AS next WHERE %[6]s
    )`, versions, validTo, never, endedBecause, changed, strings.Join(same, " AND "))
}

// changed is the reason of a version that gave way to another one with the same key.
const changed = "changed"

// updates returns the versions that began, those that ended, and the condition under which one of each is an update.
func updates(t *schemas.Table, versions string, d *dialect) (begun, ended, condition string) {
	if slices.ContainsFunc(t.Columns, func(c schemas.Column) bool { return c.Source == schemas.SourceOrdinal }) {
		return versions, versions, "false"
	}
	begun, ended = versions, versions
	conditions := []string{"before." + validTo + " = after." + validFrom, "before." + endedBecause + " = '" + changed + "'"}
	var keys, columns []string
	for i := range t.Columns {
		name := d.name(t.Columns[i].Name)
		columns = append(columns, name)
		if t.Columns[i].Key {
			keys = append(keys, name)
		}
	}
	if _, dataset, ok := schemas.FindTable(t.Name); ok && dataset.WholeRecordDuplicates {
		// Several rows may have one key. They are matched in their order.
		number := "(\n    SELECT *, row_number() OVER (PARTITION BY %s, %s, %s ORDER BY %s) AS _number FROM %s\n)"
		key, order := strings.Join(keys, ", "), strings.Join(columns, " NULLS FIRST, ")+" NULLS FIRST"
		begun = fmt.Sprintf(number, key, validFrom, "NULL", order, versions)
		ended = fmt.Sprintf(number, key, validTo, endedBecause, order, versions)
		keys = append(keys, "_number")
	}
	for _, key := range keys {
		conditions = append(conditions, fmt.Sprintf("before.%s = after.%[1]s", key))
	}
	return begun, ended, strings.Join(conditions, " AND ")
}

// ever returns the query of one row per test result.
func ever(t *schemas.Table, versions string, d *dialect) string {
	var columns []string
	for i := range t.Columns {
		columns = append(columns, d.name(t.Columns[i].Name))
	}
	return fmt.Sprintf(`SELECT
    %s,
    valid_from,
    valid_to,
    ended_because,
    valid_to = %s AS standing
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY test_result_bid ORDER BY valid_to DESC, valid_from DESC, requested_school_bid
    ) AS _latest
    FROM %s
    WHERE test_result_bid <> ''
) AS results
WHERE _latest = 1`, strings.Join(columns, ",\n    "), never, versions)
}

// growthPairs is the query of consecutive results of a student in a subject. %s is the view of all results.
const growthPairs = `SELECT
    student_bid,
    subject_area,
    from_test_result_bid,
    to_test_result_bid,
    from_term_bid,
    to_term_bid,
    from_rit,
    to_rit,
    from_administration_start_date_time,
    to_administration_start_date_time,
    CAST(to_rit AS BIGINT) - from_rit AS growth
FROM (
    SELECT
        student_bid,
        subject_area,
        lag(test_result_bid) OVER in_order AS from_test_result_bid,
        test_result_bid AS to_test_result_bid,
        lag(term_bid) OVER in_order AS from_term_bid,
        term_bid AS to_term_bid,
        lag(rit) OVER in_order AS from_rit,
        rit AS to_rit,
        lag(administration_start_date_time) OVER in_order AS from_administration_start_date_time,
        administration_start_date_time AS to_administration_start_date_time
    FROM %s
    WHERE student_bid <> '' AND subject_area <> '' AND administration_start_date_time IS NOT NULL
    WINDOW in_order AS (
        PARTITION BY student_bid, subject_area ORDER BY administration_start_date_time, test_result_bid
    )
) AS neighbours
WHERE from_test_result_bid IS NOT NULL AND from_term_bid IS DISTINCT FROM to_term_bid`
