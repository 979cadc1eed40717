// Package render describes the declared tables for others: a data dictionary
// for people, JSON for machines, DDL for DuckDB and Spark, and sources for dbt.
// What it writes follows from package schemas alone and is checked in under
// schemas/generated, which a test compares; `go generate ./schemas/render`
// rewrites it. Views over the files of one snapshot (Dialects) follow from the
// declarations and the snapshot's manifest, and are not checked in.
//
// The DDL says what the engines themselves see in the Parquet files: DuckDB's
// DESCRIBE of read_parquet equals DESCRIBE of the table made here, so no column
// is declared NOT NULL, though a key column that a call asked for never is.
package render

//go:generate go test -run TestGeneratedFiles . -update
