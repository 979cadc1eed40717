// Package rows holds rows of one declared table in memory, column by column
// and free of pointers: what transform makes and sink writes. Batches are
// reused, cost the garbage collector next to nothing, know how many bytes they
// hold, and can wait in a scratch file.
//
// It knows nothing of JSON or Parquet.
package rows
