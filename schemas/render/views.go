package render

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"example.org/growthexport/schemas"
)

// Place describes which views are created, and where the files behind them are.
type Place struct {
	// Title describes what the views show in one line, for a comment.
	Title string
	// Schema is the schema of the views, or empty for the current schema.
	Schema string
	// Root is the absolute path or the URL of the destination, without a trailing slash.
	Root string
	// HadoopRoot is the root in Spark's spelling, or empty if the spelling is the same.
	HadoopRoot string
	// Session holds the statements that a DuckDB session needs before it reads the files, if any.
	Session string
	// Views selects the views that are printed. Dates are the dates of the snapshot, or of the snapshots in the history.
	// Norms is the path or URL of a file of growth norms, if there is one.
	Views Views
	Dates []string
	Norms string
	// Profile is the privacy profile of all rows, if they have the same profile. The descriptions of columns that it
	// leaves empty say so.
	Profile schemas.Profile
}

// noted returns a view's declaration, with a note on each column that the privacy profile leaves empty.
func (p *Place) noted(t *schemas.Table) *schemas.Table {
	noted := *t
	noted.Columns = slices.Clone(t.Columns)
	for i := range noted.Columns {
		if c := &noted.Columns[i]; c.Under(p.Profile) == schemas.Withhold {
			c.Doc += " Null here: the privacy profile " + string(p.Profile) + " leaves it empty."
		}
	}
	return &noted
}

// Snapshot describes the files behind the views: the files of a published run, of several delta runs, or of a history.
type Snapshot struct {
	Place

	// History is true if the files hold versions of rows, in folders by valid_to. The tables then end with the columns
	// valid_from and ended_because. Since, unless empty, is the date before which the history is not complete.
	History bool
	Since   string
	// Deltas are the ids of delta runs, oldest first. For each key, the views show only the latest row of these runs.
	// Deltas is empty for a snapshot, whose views show every row.
	Deltas []string
	Tables []SnapshotTable
}

// SnapshotTable is a table of a snapshot.
type SnapshotTable struct {
	*schemas.Table

	Rows int64
	// Folder is the table's folder, relative to the destination, and Files are the paths of its files in the folder.
	// In a snapshot, the name of a file, part-<bucket>-<run>.parquet, is unique in its table.
	Folder string
	Files  []string
	// District is true if the files are in one folder per district.
	District bool
	// Mixed is true if some files lack columns.
	Mixed bool
}

// columns returns the quoted column names of the table's view: the files' columns, and the partition columns in the
// dialect's order.
func (t *SnapshotTable) columns(d *dialect, partitions ...string) []string {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, d.name(c.Name))
	}
	for _, column := range partitions {
		if column != districtColumn || t.District {
			columns = append(columns, d.name(column))
		}
	}
	return columns
}

// described returns the declaration of the table's view, with the partition columns.
func (t *SnapshotTable) described(s *Snapshot) *schemas.Table {
	table := *t.Table
	partitions := derived(partitionColumn, partitionType, schemas.None, partitionDoc)
	if s.History {
		partitions = validToColumn()
	}
	if t.District {
		partitions = slices.Concat(derived(districtColumn, schemas.String, schemas.None, "District of the school, from the name of the folder."), partitions)
	}
	table.Columns = slices.Concat(table.Columns, partitions)
	return &table
}

// districtColumn is the second partition column of --partition-by district.
const districtColumn = "district"

// header returns the leading comment.
func (s *Snapshot) header() string {
	title := func() string { return strings.Join(strings.Fields(s.Title), " ") }
	return fill("text/views.sql.tmpl", template.FuncMap{"title": title}, s)
}

// createSchema returns the statement that creates the schema, if the views have one.
func (p *Place) createSchema(d *dialect) string {
	if p.Schema == "" {
		return ""
	}
	return "\nCREATE SCHEMA IF NOT EXISTS " + d.name(p.Schema) + ";\n"
}

// view returns the quoted name of a view, with its schema if the views have one.
func (p *Place) view(d *dialect, name string) string {
	if p.Schema == "" {
		return d.name(name)
	}
	return d.name(p.Schema) + "." + d.name(name)
}

// runOf returns an SQL expression for the run id in a file name, which is given as an SQL expression.
func runOf(fileName string) string {
	return "regexp_extract(" + fileName + ", 'part-[0-9]+-([^/]+)[.]parquet$', 1)"
}

// deltas returns the quoted ids of the delta runs.
func (s *Snapshot) deltas(d *dialect) string {
	runs := make([]string, len(s.Deltas))
	for i, run := range s.Deltas {
		runs[i] = d.text(run)
	}
	return strings.Join(runs, ", ")
}

// emptyQuery returns a query with the table's columns and no rows.
func (s *Snapshot) emptyQuery(t *SnapshotTable, d *dialect) string {
	nulls := make([]string, 0, len(t.Columns)+1)
	for _, c := range append(slices.Clip(t.Columns), schemas.Column{Name: s.partitionColumn(), Type: partitionType}) {
		nulls = append(nulls, fmt.Sprintf("CAST(NULL AS %s) AS %s", d.kind(c.Type), d.name(c.Name)))
	}
	return "SELECT\n    " + strings.Join(nulls, ",\n    ") + "\nWHERE false"
}

// recordTable returns the table of the records to which a table's rows belong: its parent, or the table itself.
func (s *Snapshot) recordTable(t *SnapshotTable) *SnapshotTable {
	if _, dataset, ok := schemas.FindTable(t.Name); ok {
		for i := range s.Tables {
			if s.Tables[i].Name == dataset.Tables[0].Name {
				return &s.Tables[i]
			}
		}
	}
	return t
}

// latest returns the query of a view over delta runs, which shows the latest version of each record. from must return a
// query that selects the given columns of a table and, as _run, the position of the run in Deltas.
func (s *Snapshot) latest(t *SnapshotTable, columns []string, d *dialect, from func(t *SnapshotTable, columns []string) string) string {
	parent := s.recordTable(t)
	data := struct {
		Records, Candidates, Modified string
		Columns, Keys, Incomplete     names
	}{Candidates: from(t, columns), Columns: columns}
	for _, i := range parent.KeyColumns() {
		key := d.name(parent.Columns[i].Name)
		data.Keys = append(data.Keys, key)
		incomplete := "candidates." + key + " IS NULL"
		if parent.Columns[i].Type == schemas.String {
			incomplete = "coalesce(candidates." + key + ", '') = ''"
		}
		data.Incomplete = append(data.Incomplete, incomplete)
	}
	versions := slices.Clone(data.Keys)
	if parent.Column(modifiedColumn) >= 0 {
		data.Modified = d.name(modifiedColumn)
		versions = append(versions, data.Modified)
	}
	data.Records = from(parent, versions)
	return query("latest", nil, data)
}

// modifiedColumn is the column with the time of a record's last modification.
const modifiedColumn = "modified_date_time"

// partition returns the decoded value of a partition column in the path of a file, and whether the path has such a
// value that is not null.
func partition(file, column string) (string, bool) {
	for segment := range strings.SplitSeq(path.Dir(file), "/") {
		if value, found := strings.CutPrefix(segment, column+"="); found {
			return unescape(value), value != "__HIVE_DEFAULT_PARTITION__"
		}
	}
	return "", false
}

// unescape decodes a value in a path in the same way as Spark and DuckDB.
func unescape(value string) string {
	var text []byte
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			if b, err := strconv.ParseUint(value[i+1:i+3], 16, 8); err == nil {
				text = append(text, byte(b))
				i += 2
				continue
			}
		}
		text = append(text, value[i])
	}
	return string(text)
}
