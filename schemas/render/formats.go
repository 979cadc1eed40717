package render

import (
	"slices"

	"example.org/growthexport/schemas"
)

// Format is one way of describing tables.
type Format struct {
	// Name is the value of the command's --format, and File the name of the file under schemas/generated.
	Name, File string

	// all describes every dataset and table, and some describes only the tables of the given datasets.
	all, some func(datasets []*schemas.Dataset) string
}

// Text returns the description of every dataset and table.
func (f *Format) Text() string { return f.all(schemas.Datasets()) }

// Tables returns the description of the tables with these names.
func (f *Format) Tables(names []string) string {
	var datasets []*schemas.Dataset
	for _, d := range schemas.Datasets() {
		chosen := *d
		chosen.Tables = slices.DeleteFunc(slices.Clone(d.Tables), func(t *schemas.Table) bool { return !slices.Contains(names, t.Name) })
		if len(chosen.Tables) > 0 {
			datasets = append(datasets, &chosen)
		}
	}
	return f.some(datasets)
}

// Formats returns every format, the default first.
func Formats() []Format {
	same := func(name, file string, text func([]*schemas.Dataset) string) Format {
		return Format{name, file, text, text}
	}
	return []Format{
		{"markdown", "data-dictionary.md", markdown, markdownTables},
		same("json", "tables.json", tablesJSON),
		same("duckdb", "duckdb.sql", func(d []*schemas.Dataset) string { return duckDB(tablesOf(d)) }),
		same("spark", "spark.sql", func(d []*schemas.Dataset) string { return spark(tablesOf(d)) }),
		same("dbt", "dbt-sources.yml", func(d []*schemas.Dataset) string { return dbt(tablesOf(d)) }),
	}
}

// Dialect is an SQL dialect for the views of a snapshot.
type Dialect struct {
	// Name is the value of the command's --dialect.
	Name string
	// Views returns statements that create a view for each table, over exactly the files of the snapshot.
	Views func(s *Snapshot) string
	// Lake returns statements that create a view for each Delta Lake table.
	Lake func(l *Lake) string
}

// Dialects returns every dialect, the default first.
func Dialects() []Dialect {
	return []Dialect{{"duckdb", duckDBViews, duckDBLake}, {"spark", sparkViews, sparkLake}}
}
