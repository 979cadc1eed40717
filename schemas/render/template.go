package render

import (
	"embed"
	"strings"
	"text/template"
)

// The queries of views are templates in the SQL that DuckDB and Spark share; dialect has what they write differently. A
// view is one of these files and an entry in historyViews or analysisTables.
//
//go:embed sql/*.sql
var queries embed.FS

// fill returns a query of sql/, filled with data.
func fill(name string, functions template.FuncMap, data any) string {
	var b strings.Builder
	t, err := template.New(name+".sql").Funcs(functions).ParseFS(queries, "sql/"+name+".sql")
	if err == nil {
		err = t.Execute(&b, data)
	}
	if err != nil {
		panic(err) // a mistake in this program
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// names are quoted names of columns in a template.
type names []string

// List returns the names on one line, each with what is behind it.
func (n names) List(behind ...string) string {
	end := strings.Join(behind, "")
	return strings.Join(n, end+", ") + end
}

// Lines returns the names on a line each, with what is before them.
func (n names) Lines(before string) string { return before + strings.Join(n, ",\n    "+before) }
