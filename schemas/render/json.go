package render

import (
	"encoding/json"
	"strings"

	"example.org/growthexport/schemas"
)

// These types are the JSON description. Their JSON names are part of the command's contract: add names, but do not
// rename them.
type (
	jsonDocument struct {
		SchemaVersion string `json:"schema_version"`
		// Partitions are the hive partition columns of every table.
		Partitions []jsonPartition `json:"partitions"`
		Datasets   []jsonDataset   `json:"datasets"`
	}

	jsonPartition struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Doc  string `json:"doc"`
	}

	jsonDataset struct {
		Name      string        `json:"name"`
		Doc       string        `json:"doc"`
		Default   bool          `json:"default"`
		Per       string        `json:"per"`
		Feeds     []string      `json:"feeds,omitempty"`
		Operation jsonOperation `json:"operation"`
		// KeptInExtra lists documented members without a column.
		KeptInExtra           []string    `json:"kept_in_extra,omitempty"`
		WholeRecordDuplicates bool        `json:"whole_record_duplicates"`
		Tables                []jsonTable `json:"tables"`
	}

	jsonOperation struct {
		Section  string   `json:"section"`
		Path     string   `json:"path"`
		Query    []string `json:"query,omitempty"`
		Filters  []string `json:"filters,omitempty"`
		PinsDate bool     `json:"pins_date"`
		Records  string   `json:"records,omitempty"`
		Paged    bool     `json:"paged"`
		Single   bool     `json:"single"`
	}

	jsonTable struct {
		Name string `json:"name"`
		Doc  string `json:"doc"`
		// Each is the array of the parent record, for a child table.
		Each string `json:"each,omitempty"`
		// SortedBy lists the key columns in the sort order of files.
		SortedBy []string     `json:"sorted_by"`
		Columns  []jsonColumn `json:"columns"`
		// SparkSchema is the table's schema for spark.read.schema.
		SparkSchema string `json:"spark_schema"`
	}

	jsonColumn struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		DuckDB   string `json:"duckdb_type"`
		Spark    string `json:"spark_type"`
		Key      bool   `json:"key"`
		Required bool   `json:"required"`
		Source   string `json:"source"`
		Class    string `json:"class"`
		Doc      string `json:"doc"`
	}
)

// tablesJSON returns one JSON object that describes every dataset, table and column.
func tablesJSON(datasets []*schemas.Dataset) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(newDocument(datasets)) // plain data can always be encoded
	return b.String()
}

func newDocument(datasets []*schemas.Dataset) *jsonDocument {
	doc := &jsonDocument{
		SchemaVersion: schemas.Version,
		Partitions:    []jsonPartition{{Name: partitionColumn, Type: partitionType.String(), Doc: partitionDoc}},
	}
	for _, d := range datasets {
		doc.Datasets = append(doc.Datasets, describe(d))
	}
	return doc
}

func describe(d *schemas.Dataset) jsonDataset {
	out := jsonDataset{
		Name: d.Name, Doc: d.Doc, Default: d.Default, Per: d.Per.String(), Feeds: d.Feeds,
		Operation:             jsonOperation(d.Operation),
		KeptInExtra:           d.Known,
		WholeRecordDuplicates: d.WholeRecordDuplicates,
	}
	for _, t := range d.Tables {
		table := jsonTable{
			Name: t.Name, Doc: t.Doc, Each: t.Each,
			SortedBy: keyNames(t), SparkSchema: sparkSchema(t),
		}
		for _, c := range t.Columns {
			table.Columns = append(table.Columns, jsonColumn{
				Name: c.Name, Type: c.Type.String(), DuckDB: duckDBType(c.Type), Spark: sparkType(c.Type),
				Key: c.Key, Required: c.Required, Source: c.Source, Class: string(c.Class), Doc: c.Doc,
			})
		}
		out.Tables = append(out.Tables, table)
	}
	return out
}
