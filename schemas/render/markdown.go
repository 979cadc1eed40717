package render

import (
	"slices"
	"strings"
	"text/template"

	"example.org/growthexport/schemas"
)

// markdown returns the data dictionary.
func markdown(datasets []*schemas.Dataset) string {
	return fill("text/data-dictionary.md.tmpl", template.FuncMap{
		"version": func() string { return schemas.Version }, "profiles": schemas.Profiles, "privacy_matrix": schemas.PrivacyMatrix,
		"joins": func() joinMap { return joins(datasets) }, "without_table": func() []string { return withoutTable(datasets) },
		"tables": func() []*schemas.Table { return tablesOf(datasets) }, "table": markdownTable, "codes": codes,
		"views": analysisTables, "sector_views": sectorTables, "history_views": documentedHistoryViews, "kind": kindName,
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

// documentedHistoryViews returns views of a history. If each is true, these are the views that every table has, with
// only the columns that they add to the table's own columns. Otherwise, these are the views that only test results
// have.
func documentedHistoryViews(each bool) []*schemas.Table {
	ends := slices.Concat(
		derived(validFrom, schemas.Date, schemas.None, "The first snapshot date of this version."),
		text(endedBecause, "Why the version ended; null if it has not."),
	)
	if !each {
		var views []*schemas.Table
		results, _, _ := schemas.FindTable(schemas.TestResults)
		versions := *results
		versions.Columns = slices.Concat(results.Columns, ends)
		for _, view := range historyViews() {
			if view.of != "" {
				views = append(views, view.table(&versions))
			}
		}
		return views
	}
	students := &schemas.Table{Name: "students", Columns: ends}
	all := versionsTable(students)
	all.Doc = "Every version of every row."
	views := []*schemas.Table{all}
	for _, view := range historyViews() {
		if view.of == "" {
			t := view.table(students)
			if view.query == "as_of" {
				t.Name += "(d)"
			}
			views = append(views, t)
		}
	}
	return views
}
