// Package rows holds rows of one declared table in memory, column by column and free of pointers. Package transform
// fills batches, and package parquetfile writes them. Batches are reused, cost the garbage collector next to nothing,
// know their size in bytes, and can be spilled to a scratch file.
//
// The package knows nothing about JSON or Parquet.
package rows
