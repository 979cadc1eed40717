package render

import (
	"strings"

	"example.org/growthexport/schemas"
)

// spark returns a CREATE TABLE statement for every table, with comments, in the dialect of Spark SQL, and the table's
// schema for spark.read.schema.
func spark(tables []*schemas.Table) string {
	functions := sparkDialect("").functions()
	functions["schema"] = sparkSchema
	return fill("text/spark.sql.tmpl", functions, tables)
}

// sparkSchema returns the table's columns for spark.read.schema, with the partition column last.
func sparkSchema(t *schemas.Table) string {
	var columns []string
	for _, c := range withPartition(t) {
		columns = append(columns, c.Name+" "+sparkType(c.Type))
	}
	return strings.Join(columns, ", ")
}

// sparkType returns the type that Spark reads for a column of our Parquet files.
func sparkType(t schemas.Type) string {
	return [...]string{
		schemas.String: "STRING", schemas.Int32: "INT", schemas.Int64: "BIGINT", schemas.Double: "DOUBLE",
		schemas.Boolean: "BOOLEAN", schemas.Date: "DATE", schemas.Timestamp: "TIMESTAMP", schemas.JSON: "STRING",
	}[t]
}

// sparkName returns a name in quotes, because it may be a keyword.
func sparkName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func sparkText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
