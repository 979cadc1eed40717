package render

import (
	"strings"
	"text/template"

	"example.org/growthexport/schemas"
)

// markdown returns the data dictionary.
func markdown(datasets []*schemas.Dataset) string {
	return fill("text/data-dictionary.md.tmpl", template.FuncMap{
		"version": func() string { return schemas.Version }, "profiles": schemas.Profiles, "privacy_matrix": schemas.PrivacyMatrix,
		"joins": func() joinMap { return joins(datasets) }, "without_table": func() []string { return withoutTable(datasets) },
		"tables": func() []*schemas.Table { return tablesOf(datasets) }, "table": markdownTable, "views": analysisTables, "codes": codes,
	}, datasets)
}

// markdownTables returns the sections of the tables.
func markdownTables(datasets []*schemas.Dataset) string {
	var sections []string
	for _, t := range tablesOf(datasets) {
		sections = append(sections, markdownTable(t))
	}
	return strings.Join(sections, "\n")
}

func markdownTable(t *schemas.Table) string {
	return fill("text/table.md.tmpl", template.FuncMap{
		"codes": codes, "position": func(index int) int { return index + 1 },
		"cell": func(text string) string { return strings.ReplaceAll(text, "|", `\|`) },
	}, t)
}

func codes(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
