package render

import (
	"fmt"
	"strings"

	"example.org/growthexport/schemas"
)

const duckDBHeader = `-- Tables of growth-export as DuckDB sees them. Generated from the declarations in schemas: edit those.
--
-- Names, types and order equal the result of
--   DESCRIBE SELECT * FROM read_parquet('DEST/<table>/snapshot_date=*/**/*.parquet', hive_partitioning = true);
-- which shows every column of a Parquet file as nullable; comments mark the columns that are never null.
-- To fill a table:
--   INSERT INTO <table> BY NAME SELECT * FROM read_parquet('DEST/<table>/snapshot_date=*/**/*.parquet', hive_partitioning = true);
-- In a destination written with --partition-by district, the tables of per-school datasets have one more column,
-- district, before snapshot_date. Read it with hive_types = {'district': VARCHAR}, since bids are text.
-- _extra is text that holds valid JSON. JSON functions read it directly: _extra->>'$.member'
`

// duckDB returns a CREATE TABLE statement for every table, with comments, in DuckDB's dialect.
func duckDB(tables []*schemas.Table) string {
	var b strings.Builder
	b.WriteString(duckDBHeader)
	for _, t := range tables {
		fmt.Fprintf(&b, "\nCREATE TABLE %s (\n", duckDBName(t.Name))
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "    %s %s,\n", duckDBName(c.Name), duckDBType(c.Type))
		}
		fmt.Fprintf(&b, "    %s %s\n);\n", duckDBName(partitionColumn), duckDBType(partitionType))

		fmt.Fprintf(&b, "COMMENT ON TABLE %s IS %s;\n", duckDBName(t.Name), duckDBText(t.Doc))
		column := func(name, doc string) {
			fmt.Fprintf(&b, "COMMENT ON COLUMN %s.%s IS %s;\n", duckDBName(t.Name), duckDBName(name), duckDBText(doc))
		}
		for _, c := range t.Columns {
			column(c.Name, comment(c))
		}
		column(partitionColumn, partitionDoc)
	}
	return b.String()
}

// duckDBType returns the type that DuckDB's DESCRIBE shows for a column of our Parquet files. JSON is text to it: its
// JSON functions and ->> read text.
func duckDBType(t schemas.Type) string {
	return [...]string{
		schemas.String: "VARCHAR", schemas.Int32: "INTEGER", schemas.Int64: "BIGINT", schemas.Double: "DOUBLE",
		schemas.Boolean: "BOOLEAN", schemas.Date: "DATE", schemas.Timestamp: "TIMESTAMP WITH TIME ZONE", schemas.JSON: "VARCHAR",
	}[t]
}

// duckDBName quotes a name, which may be a keyword.
func duckDBName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func duckDBText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// DuckDBPath returns the text, in DuckDB's dialect, of a pattern that matches a folder and the paths below it: DuckDB
// treats every file path as a glob pattern. The folder is matched literally, and below may have wildcards.
func DuckDBPath(folder, below string) string {
	return duckDBText(strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(folder) + "/" + below)
}
