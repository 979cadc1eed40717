package render

import (
	"embed"
	"path"
	"slices"
	"strings"
	"text/template"

	"example.org/growthexport/schemas"
)

// The output of this package comes from templates. The templates in sql are the queries of views, in the SQL that
// DuckDB and Spark share. Type dialect holds the differences between the two. A view consists of one of these files and
// an entry in historyViews, analysisTables or sectorTables. Expressions that several views share are in sql/parts. The
// templates in text describe the tables. Their delimiters are double angle brackets, because dbt uses double braces.
//
//go:embed sql/*.sql sql/parts/*.sql text/*.tmpl
var templates embed.FS

// fill returns the template of a file, filled with data.
func fill(file string, functions template.FuncMap, data any) string {
	var b strings.Builder
	t := template.New(path.Base(file)).Funcs(template.FuncMap{
		"columns": withPartition, "comment": comment, "keys": keyNames, "join": strings.Join,
	}).Funcs(functions)
	files := []string{file}
	switch {
	case path.Dir(file) == "text":
		t.Delims("<<", ">>")
	case functions != nil: // the functions of analysis, which the shared expressions need
		files = append(files, "sql/parts/*.sql")
	}
	t, err := t.ParseFS(templates, files...)
	if err == nil {
		err = t.Execute(&b, data)
	}
	if err != nil {
		panic(err) // a mistake in this program
	}
	return b.String()
}

// query returns the query of a view, filled with data.
func query(name string, functions template.FuncMap, data any) string {
	return strings.TrimSuffix(fill("sql/"+name+".sql", functions, data), "\n")
}

// functions returns the functions with which templates write names, texts and types of columns.
func (d *dialect) functions() template.FuncMap {
	return template.FuncMap{"name": d.name, "text": d.text, "type": d.kind}
}

// withPartition returns the columns of a table, followed by the partition column.
func withPartition(t *schemas.Table) []schemas.Column {
	return append(slices.Clip(t.Columns), schemas.Column{Name: partitionColumn, Type: partitionType, Doc: partitionDoc})
}

// names are the quoted names of columns, for a template.
type names []string

// List returns the names on one line, each followed by the texts in behind.
func (n names) List(behind ...string) string {
	end := strings.Join(behind, "")
	return strings.Join(n, end+", ") + end
}

// Lines returns each name on a separate line, preceded by the text in before.
func (n names) Lines(before string) string { return before + strings.Join(n, ",\n    "+before) }
