// Package render describes the declared tables: a data dictionary with a join map for people, JSON for machines, DDL
// for DuckDB and Spark, and sources for dbt. The output depends only on package schemas and is checked in under
// schemas/generated. A test compares it, and `go generate ./schemas/render` rewrites it. Views over the files of one
// snapshot (Dialects) depend on the snapshot's manifest too and are not checked in.
//
// The DDL matches what the engines see in the Parquet files: DuckDB's DESCRIBE of read_parquet equals DESCRIBE of the
// table created here. Therefore no column is declared NOT NULL, although some columns are never null.
package render

//go:generate go test -run "TestGeneratedFiles|TestDBTModels" . -update
