package render

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"text/template"

	"example.org/growthexport/schemas"
)

// dbt returns a sources file for dbt, with DuckDB's types.
func dbt(tables []*schemas.Table) string {
	return fill("text/dbt-sources.yml.tmpl", dbtFunctions(), tables)
}

func dbtFunctions() template.FuncMap {
	return template.FuncMap{
		"text": yamlText, "known_values": knownValues,
		"type":   func(t schemas.Type) string { return strings.ToLower(duckDBType(t)) },
		"tested": func(c schemas.Column) bool { return c.Required || c.Name == partitionColumn },
	}
}

// yamlText returns a text in quotes, as a JSON string, because every JSON string is a YAML string. dbt interprets
// double braces, but no declaration contains any.
func yamlText(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// DBTModels returns the generated files of the dbt package, by their paths in the package's folder of models: sources,
// a staging model of one snapshot for each table, the views for analysts as models, and the documentation and tests of
// all of them.
func DBTModels() map[string]string {
	files := map[string]string{
		"staging/sources.yml": strings.ReplaceAll(dbt(schemas.Tables()), "            data_tests: [not_null]\n", ""),
	}
	var staging, views []dbtModel
	for _, d := range schemas.Datasets() {
		for _, t := range d.Tables {
			// Rows without a complete key may be repeated, as may rows whose key is a guess.
			model := dbtModel{Dataset: d, Table: t, Prefix: stagingPrefix, Unique: !d.WholeRecordDuplicates}
			files["staging/"+stagingPrefix+t.Name+".sql"] = fill("text/dbt-model.sql.tmpl", dbtFunctions(), model)
			staging = append(staging, model)
		}
	}
	a := &analysis{
		dialect: dbtDialect(), place: &Place{}, tables: schemas.Tables(), relation: dbtRelation, sector: true, norms: normsView,
		days: "(SELECT {{ growth_export_snapshot_date() }} AS day) AS days",
	}
	for _, t := range a.views() {
		if t.Name == columnsView {
			continue // dbt has documentation
		}
		files["analysis/"+t.Name+".sql"] = "-- Generated from the declarations in schemas: edit those.\n" + a.query(t) + "\n"
		views = append(views, dbtModel{Table: a.noted(t), Unique: len(keyNames(t)) > 0})
	}
	for file, models := range map[string][]dbtModel{"staging/staging.yml": staging, "analysis/analysis.yml": views} {
		files[file] = fill("text/dbt-models.yml.tmpl", dbtFunctions(), models)
	}
	return files
}

const stagingPrefix = "stg_growth_export__"

// dbtModel is a model of a table, or of a view for analysts.
type dbtModel struct {
	*schemas.Table

	Dataset *schemas.Dataset
	Prefix  string // of the model's name
	Unique  bool   // no two rows have the same key
}

// dbtDialect returns DuckDB's dialect, with macros where other adapters need different SQL.
func dbtDialect() *dialect {
	d := duckDBDialect()
	d.keys, d.member = "{{ growth_export_keys('%s') }}", "{{ growth_export_member('%s', '%s') }}"
	d.joined = "{{ growth_export_joined(\"%[1]s\") }}"
	d.utcDay, d.utcDate, d.utcTime = "{{ growth_export_utc_day('%s') }}", "{{ growth_export_utc_date('%s') }}", "{{ growth_export_utc_time('%s') }}"
	d.readNorms = func(_, _ string) string { return "{{ growth_export_norms() }}" }
	return d
}

func dbtRelation(name string) string {
	if _, _, isTable := schemas.FindTable(name); isTable {
		name = stagingPrefix + name
	}
	return "{{ ref('" + name + "') }}"
}

// knownValues returns the values of a column that have been seen. The service does not document the values, so other
// values only cause a warning.
func knownValues(column string) []string {
	switch column {
	case "grade":
		values := []string{"PK", "K"}
		for n := 1; n <= lastGrade; n++ {
			values = append(values, strconv.Itoa(n))
		}
		return values
	case "type": // of a norm
		return []string{"achievement", "growth"}
	case "status": // of a test result
		return []string{"COMPLETED"}
	}
	return nil
}
