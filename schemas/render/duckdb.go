package render

import (
	"strings"

	"example.org/growthexport/schemas"
)

// duckDB returns a CREATE TABLE statement for every table, with comments, in DuckDB's dialect.
func duckDB(tables []*schemas.Table) string {
	return fill("text/duckdb.sql.tmpl", duckDBDialect().functions(), tables)
}

// duckDBType returns the type that DuckDB's DESCRIBE shows for a column of our Parquet files. A JSON column has type
// VARCHAR, which DuckDB's JSON functions and ->> can read.
func duckDBType(t schemas.Type) string {
	return [...]string{
		schemas.String: "VARCHAR", schemas.Int32: "INTEGER", schemas.Int64: "BIGINT", schemas.Double: "DOUBLE",
		schemas.Boolean: "BOOLEAN", schemas.Date: "DATE", schemas.Timestamp: "TIMESTAMP WITH TIME ZONE", schemas.JSON: "VARCHAR",
	}[t]
}

// duckDBName returns a name in quotes, because it may be a keyword.
func duckDBName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func duckDBText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// DuckDBPath returns a glob pattern for the paths below a folder, as a text in DuckDB's dialect. DuckDB treats every
// file path as a glob pattern. The folder is matched literally, and below may have wildcards.
func DuckDBPath(folder, below string) string { return duckDBText(duckDBLiteral(folder) + "/" + below) }

// duckDBPattern returns a pattern that matches only the given path, as a text in DuckDB's dialect.
func duckDBPattern(path string) string { return duckDBText(duckDBLiteral(path)) }

func duckDBLiteral(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}
