package render

import (
	"fmt"
	"strconv"
	"strings"

	"example.org/growthexport/schemas"
)

// DBTModels returns the generated files of the dbt package, by their path in its folder of models: sources, a staging
// model of one snapshot for each table, the views for analysts as models, and the documentation and tests of all of
// them.
func DBTModels() map[string]string {
	files := map[string]string{
		"staging/sources.yml": strings.ReplaceAll(dbt(schemas.Tables()), "            data_tests: [not_null]\n", ""),
	}
	var staging, views strings.Builder
	staging.WriteString(dbtPropertiesHeader)
	for _, d := range schemas.Datasets() {
		for _, t := range d.Tables {
			files["staging/"+stagingPrefix+t.Name+".sql"] = stagingModel(d, t)
			modelProperties(&staging, stagingPrefix+t.Name, t, stagingTests(d, t))
		}
	}
	files["staging/staging.yml"] = staging.String()

	views.WriteString(dbtPropertiesHeader)
	a := &analysis{dialect: dbtDialect(), tables: schemas.Tables(), relation: dbtRelation}
	for _, t := range a.views() {
		if t.Name == columnsView {
			continue // dbt has documentation
		}
		files["analysis/"+t.Name+".sql"] = "-- " + dbtGenerated + a.query(t) + "\n"
		modelProperties(&views, t.Name, t, uniqueKey(t))
	}
	files["analysis/analysis.yml"] = views.String()
	return files
}

const (
	stagingPrefix       = "stg_growth_export__"
	dbtGenerated        = "Generated from the declarations in schemas: edit those.\n"
	dbtPropertiesHeader = "# " + dbtGenerated + "version: 2\nmodels:\n"
)

func dbtRelation(name string) string {
	if _, _, isTable := schemas.FindTable(name); isTable {
		name = stagingPrefix + name
	}
	return "{{ ref('" + name + "') }}"
}

func dbtDialect() *dialect {
	d := duckDBDialect()
	d.keys = "{{ growth_export_keys('%s') }}"
	return d
}

// stagingModel returns the model of a table: its rows in one snapshot, or none if the dataset is not exported.
func stagingModel(d *schemas.Dataset, t *schemas.Table) string {
	var columns, nulls []string
	for _, c := range t.Columns {
		columns = append(columns, "    "+c.Name)
		nulls = append(nulls, fmt.Sprintf("    CAST(NULL AS %s) AS %s", strings.ToLower(duckDBType(c.Type)), c.Name))
	}
	byDefault := "false"
	if d.Default {
		byDefault = "true"
	}
	return fmt.Sprintf(`-- %[1]s{%% if growth_export_has('%[2]s', %[3]s) %%}
SELECT
%[4]s,
    snapshot_date
FROM {{ source('growth_export', '%[5]s') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{%% else %%}
SELECT
%[6]s,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{%% endif %%}
`, dbtGenerated, d.Name, byDefault, strings.Join(columns, ",\n"), t.Name, strings.Join(nulls, ",\n"))
}

// stagingTests returns the tests of a table's key. Rows without a complete key may be repeated, and so may rows whose
// key is a guess.
func stagingTests(d *schemas.Dataset, t *schemas.Table) string {
	if d.WholeRecordDuplicates {
		return ""
	}
	return uniqueKey(t)
}

func uniqueKey(t *schemas.Table) string {
	return "    data_tests:\n      - growth_export_unique_key:\n          arguments:\n            columns: [" + strings.Join(keyNames(t), ", ") + "]\n"
}

// modelProperties writes the documentation and the tests of a model.
func modelProperties(b *strings.Builder, name string, t *schemas.Table, tests string) {
	fmt.Fprintf(b, "  - name: %s\n    description: %s\n%s    columns:\n", name, yamlText(t.Doc), tests)
	for _, c := range t.Columns {
		fmt.Fprintf(b, "      - name: %s\n        data_type: %s\n        description: %s\n",
			yamlText(c.Name), strings.ToLower(duckDBType(c.Type)), yamlText(comment(c)))
		values := knownValues(c.Name)
		if c.Required || len(values) > 0 {
			b.WriteString("        data_tests:\n")
		}
		if c.Required {
			b.WriteString("          - not_null\n")
		}
		if len(values) > 0 {
			fmt.Fprintf(b, "          - accepted_values:\n              arguments:\n                values: ['%s']\n"+
				"              config: {severity: warn}\n", strings.Join(values, "', '"))
		}
	}
}

// knownValues returns the values of a column that have been seen. Since the service documents none, others are a
// warning.
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
