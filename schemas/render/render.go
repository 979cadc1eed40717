package render

import (
	"fmt"
	"io"

	"example.org/growthexport/schemas"
)

// Format is one way of describing all tables.
type Format struct {
	// Name is the value of the command's --format.
	Name string
	// File is the name of the file under schemas/generated.
	File string
	// Write writes the description of every dataset and table.
	Write func(w io.Writer) error
}

// Formats returns every format, the default first.
func Formats() []Format {
	return []Format{
		{"markdown", "data-dictionary.md", func(w io.Writer) error { return flush(w, "data dictionary", markdown(schemas.Datasets())) }},
		{"json", "tables.json", writeJSON},
		{"duckdb", "duckdb.sql", func(w io.Writer) error { return flush(w, "DuckDB tables", duckDB(schemas.Tables())) }},
		{"spark", "spark.sql", func(w io.Writer) error { return flush(w, "Spark tables", spark(schemas.Tables())) }},
		{"dbt", "dbt-sources.yml", func(w io.Writer) error { return flush(w, "dbt sources", dbt(schemas.Tables())) }},
	}
}

// The hive partition column of every table. The second one of --partition-by district is left out, since a destination
// may not have it.
const (
	partitionColumn = "snapshot_date"
	partitionType   = schemas.Date
	partitionDoc    = "Date of the snapshot, from the name of the folder."
)

// comment returns a column's documentation with the properties that the DDL cannot express.
func comment(c schemas.Column) string {
	switch {
	case c.Key && c.Required:
		return c.Doc + " Part of the key, never null."
	case c.Key:
		return c.Doc + " Part of the key."
	case c.Required:
		return c.Doc + " Never null."
	default:
		return c.Doc
	}
}

// keyNames returns the names of the key columns in the sort order of files.
func keyNames(t *schemas.Table) []string {
	var names []string
	for _, i := range t.KeyColumns() {
		names = append(names, t.Columns[i].Name)
	}
	return names
}

func flush(w io.Writer, what string, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
