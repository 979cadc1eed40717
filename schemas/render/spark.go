package render

import (
	"fmt"
	"strings"

	"example.org/growthexport/schemas"
)

const sparkHeader = `-- Tables of growth-export for Spark. Generated from the declarations in schemas: edit those.
--
-- The tables are external: Spark reads the files of a destination and never deletes them. Set the destination, run this
-- file, and add the new partitions after every run:
--   SET dest = s3a://bucket/prefix;
--   MSCK REPAIR TABLE <table>;
-- Spark treats every column of a Parquet file as nullable; comments mark the columns that are never null. _extra is text
-- that holds valid JSON: get_json_object(_extra, '$.member'). The comment above each table is its schema for
-- spark.read.schema. In a destination written with --partition-by district, the tables of per-school datasets have a
-- second partition column, district STRING: add it as the last column and to PARTITIONED BY.
-- Spark up to 3.5 fails on dates before 1900, which a wrong record may hold, unless the session has
--   SET spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED;
`

// spark returns a CREATE TABLE statement for every table, with comments, in the dialect of Spark SQL, and the table's
// schema for spark.read.schema.
func spark(tables []*schemas.Table) string {
	var b strings.Builder
	b.WriteString(sparkHeader)
	for _, t := range tables {
		fmt.Fprintf(&b, "\n-- %s\nCREATE TABLE %s (\n", sparkSchema(t), sparkName(t.Name))
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "    %s %s COMMENT %s,\n", sparkName(c.Name), sparkType(c.Type), sparkText(comment(c)))
		}
		fmt.Fprintf(&b, "    %s %s COMMENT %s\n)\n", sparkName(partitionColumn), sparkType(partitionType), sparkText(partitionDoc))
		fmt.Fprintf(&b, "USING parquet\nPARTITIONED BY (%s)\n", sparkName(partitionColumn))
		fmt.Fprintf(&b, "COMMENT %s\nLOCATION '${dest}/%s';\n", sparkText(t.Doc), t.Name)
	}
	return b.String()
}

// sparkSchema returns the table's columns for spark.read.schema, the partition column last.
func sparkSchema(t *schemas.Table) string {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, c.Name+" "+sparkType(c.Type))
	}
	return strings.Join(append(columns, partitionColumn+" "+sparkType(partitionType)), ", ")
}

// sparkType returns the type that Spark reads for a column of our Parquet files.
func sparkType(t schemas.Type) string {
	return [...]string{
		schemas.String: "STRING", schemas.Int32: "INT", schemas.Int64: "BIGINT", schemas.Double: "DOUBLE",
		schemas.Boolean: "BOOLEAN", schemas.Date: "DATE", schemas.Timestamp: "TIMESTAMP", schemas.JSON: "STRING",
	}[t]
}

// sparkName quotes a name, which may be a keyword.
func sparkName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func sparkText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
