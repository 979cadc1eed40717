package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"example.org/growthexport/schemas"
)

const dbtHeader = `# Tables of growth-export as dbt sources. Generated from the declarations in schemas: edit those.
#
# With dbt-duckdb, set the variable growth_export_dest to the destination. The sources contain all of its snapshots: select
# one by snapshot_date. For other adapters, create the tables first (growth-export schema prints the DDL) and set
# growth_export_schema to their schema.
version: 2
sources:
  - name: growth_export
    description: "Snapshots of test results and enrollment, written by growth-export."
    schema: "{{ var('growth_export_schema', 'main') }}"
    config:
      meta:
        external_location: "read_parquet('{{ var('growth_export_dest', './growth-data') }}/{name}/snapshot_date=*/**/*.parquet', hive_partitioning = true)"
    tables:
`

// dbt returns a sources file for dbt, with DuckDB's types.
func dbt(tables []*schemas.Table) string {
	var b strings.Builder
	b.WriteString(dbtHeader)
	for _, t := range tables {
		fmt.Fprintf(&b, "      - name: %s\n        description: %s\n        columns:\n", t.Name, yamlText(t.Doc))
		column := func(name string, kind schemas.Type, doc string, required bool) {
			fmt.Fprintf(&b, "          - name: %s\n            data_type: %s\n            description: %s\n",
				yamlText(name), strings.ToLower(duckDBType(kind)), yamlText(doc))
			if required {
				b.WriteString("            data_tests: [not_null]\n")
			}
		}
		for _, c := range t.Columns {
			column(c.Name, c.Type, comment(c), c.Required)
		}
		column(partitionColumn, partitionType, partitionDoc, true)
	}
	return b.String()
}

// yamlText quotes a text: every JSON string is a YAML string. Double braces have a meaning in dbt, but no declaration
// has any.
func yamlText(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
