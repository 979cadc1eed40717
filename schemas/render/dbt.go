package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"example.org/growthexport/schemas"
)

const dbtHeader = `# Tables of growth-export as dbt's sources. Generated from the declarations in schemas: edit those.
#
# dbt-duckdb reads the files where they are: set the variable growth_export_dest to the destination. All snapshots that
# are there are rows of the sources: choose one by snapshot_date. For other adapters make the tables first (see the DDL of
# growth-export schema) and set growth_export_schema to where they are.
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

// dbt is a sources file for dbt. Its types are DuckDB's.
func dbt(tables []*schemas.Table) []byte {
	var b bytes.Buffer
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
	return b.Bytes()
}

// yamlText quotes a text: what is a string in JSON is one in YAML. Braces would
// mean something to dbt, and no declaration has two of them.
func yamlText(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // text can always be written
	return strings.TrimSuffix(b.String(), "\n")
}
