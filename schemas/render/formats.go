package render

import "example.org/growthexport/schemas"

// Format is one way of describing all tables.
type Format struct {
	// Name is the value of the command's --format, and File the name of the file under schemas/generated.
	Name, File string
	// Text returns the description of every dataset and table.
	Text func() string
}

// Formats returns every format, the default first.
func Formats() []Format {
	return []Format{
		{"markdown", "data-dictionary.md", func() string { return markdown(schemas.Datasets()) }},
		{"json", "tables.json", tablesJSON},
		{"duckdb", "duckdb.sql", func() string { return duckDB(schemas.Tables()) }},
		{"spark", "spark.sql", func() string { return spark(schemas.Tables()) }},
		{"dbt", "dbt-sources.yml", func() string { return dbt(schemas.Tables()) }},
	}
}

// Dialect is an SQL dialect for the views of a snapshot.
type Dialect struct {
	// Name is the value of the command's --dialect.
	Name string
	// Views returns statements that create a view for each table. They list the files exactly.
	Views func(s *Snapshot) string
	// Lake returns statements that create a view for each Delta Lake table.
	Lake func(l *Lake) string
}

// Dialects returns every dialect, the default first.
func Dialects() []Dialect {
	return []Dialect{{"duckdb", duckDBViews, duckDBLake}, {"spark", sparkViews, sparkLake}}
}
