package render

import (
	"bytes"
	"fmt"
	"strings"

	"example.org/growthexport/schemas"
)

const sparkHeader = `-- Tables of growth-export for Spark. Generated from the declarations in schemas: edit those.
--
-- The tables lie over the files of a destination, which Spark reads and never owns. Name it first, then run this file,
-- and let Spark look for partitions after every run:
--   SET dest = s3a://bucket/prefix;
--   MSCK REPAIR TABLE <table>;
-- Spark takes every column of a Parquet file as nullable; the comments name the columns that never are. _extra is
-- text that holds valid JSON: get_json_object(_extra, '$.member'). The line above each table is the same schema as spark.read.schema
-- takes it. A destination written with --partition-by district has a second partition column, district STRING, in the
-- tables of per-school datasets: add it as the last column and to PARTITIONED BY.
-- Spark up to 3.5 fails on dates before 1900, which no child has but a mistaken record may hold, unless it is told that
-- they need no rebasing: SET spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED;
`

// spark is a CREATE TABLE statement for every table, with comments, in the
// dialect of Spark SQL, and the table's schema as spark.read.schema takes it.
func spark(tables []*schemas.Table) []byte {
	var b bytes.Buffer
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
	return b.Bytes()
}

// sparkSchema returns the table's columns as spark.read.schema takes them, the
// partition column last.
func sparkSchema(t *schemas.Table) string {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, c.Name+" "+sparkType(c.Type))
	}
	return strings.Join(append(columns, partitionColumn+" "+sparkType(partitionType)), ", ")
}

// sparkType returns the type as Spark reads a column of our Parquet files.
func sparkType(t schemas.Type) string {
	return [...]string{
		schemas.String:    "STRING",
		schemas.Int32:     "INT",
		schemas.Int64:     "BIGINT",
		schemas.Double:    "DOUBLE",
		schemas.Boolean:   "BOOLEAN",
		schemas.Date:      "DATE",
		schemas.Timestamp: "TIMESTAMP",
		schemas.JSON:      "STRING",
	}[t]
}

// sparkName quotes a name, so that none can be taken for a keyword.
func sparkName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func sparkText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
