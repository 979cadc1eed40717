// Package parquetfile turns sorted rows of one declared table into the bytes
// of one Parquet file, and looks at the footer of such a file. It owns the
// file format and nothing else: no stores, no folders, no JSON.
//
// Pages are written straight from the column vectors of package rows, because
// parquet-go offers no typed column path into its writer; its format, thrift
// and encoding packages do the parts that the format's documents fix. Rows
// collect in one raw page; a full page is encoded and compressed column by
// column, and the compressed pages wait in memory until their row group is
// complete. A Writer thus holds one raw page and one compressed row group.
//
// # The file
//
//   - Flat schema in declared order; texts, dates and timestamps carry their
//     logical and their converted type, so that old and new readers agree.
//     JSON is a plain string column: with Parquet's JSON type DuckDB rejects a
//     whole column for one value that it considers invalid, polars reads bytes,
//     and Iceberg fails.
//   - Data pages of version 1, zstd, all columns cut at the same rows. A page
//     ends after Options.PageRows rows or 4 MiB of text, a row group after
//     Options.RowGroupRows rows or 64 MiB of compressed pages.
//   - Encodings by column and row group: a dictionary where it is smaller;
//     otherwise DELTA_LENGTH_BYTE_ARRAY for texts, DELTA_BINARY_PACKED for whole
//     numbers, dates and timestamps, PLAIN for doubles. Booleans are PLAIN. Not
//     DELTA_BYTE_ARRAY: it would save zstd some work on the parents' ids of
//     child tables. Readers of the Java library accept it only in files whose
//     created_by has a version that they can parse (PARQUET-246), which ours
//     has had since it reads "version 1"; using it changes the bytes of every
//     file and so needs a new version.
//   - Statistics per column chunk and per page (the page index), texts cut to
//     64 bytes; the sort order as sorting columns.
//   - created_by is CreatedBy, in the form that readers parse: application,
//     "version", version. No key-value metadata, no time, no version of a
//     library.
//
// Every choice above is a function of the sequence of rows alone: not of how
// they were split over calls of Append, nor of what a Writer wrote before. The
// bytes do depend on the version of the zstd library; a test pins them, and a
// version that changes them is a new CreatedBy.
package parquetfile
