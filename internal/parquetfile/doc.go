// Package parquetfile writes sorted rows of one declared table as one Parquet file, reads such files, and inspects
// their footers. It owns the file format and nothing else: no stores, no folders, no JSON.
//
// # Why not the library's writer
//
// parquet-go has no typed column path into its writer: its ColumnWriters take []Value. Here pages are encoded directly
// from the column vectors of package rows, and the library's format, thrift and encoding packages do what the format's
// specification prescribes. Measured on test results (BenchmarkWrite) against the library's writer, which the tests
// keep as a reference, this takes half the CPU time (a factor of 1.9 to 2.0) and produces files that are 17 to 22 %
// smaller: 118 bytes per result instead of 142 with hand-picked encodings or 151 with the encodings of the reference.
// It also
//   - chooses the encoding of each column and row group by the values: a dictionary only if it makes the column smaller
//   - cuts long texts in statistics and marks the bounds as inexact
//   - checks the sort order that the footer declares
//   - keeps the bytes of files stable: a test pins them, and they do not contain a library version.
//
// The price is about 1,500 lines: page.go, column.go, dictionary.go, encoder.go, texts.go, numbers.go, bounds.go,
// bloom.go, footer.go and metadata.go, which repeats some of the library's structs to add or omit members.
//
// thrift.go checks metadata before the library decodes it: the library allocates as many elements as a list claims to
// have, so a few damaged bytes could exhaust the memory. It can be removed once the library bounds its allocations.
//
// Pages are not read by the library's reader either, because it allocates every page and dictionary. A Reader
// decodes only what a Writer writes, with the library's packages, into memory that it reuses (chunk.go, coded.go,
// decode.go).
//
// # The file
//
//   - The schema is flat and in declared order. Texts, dates and timestamps have both a logical and a converted type,
//     for new and old readers. JSON is a plain string column: with Parquet's JSON type, DuckDB rejects a whole column
//     because of one value that it considers invalid, polars reads bytes, and Iceberg fails.
//   - Data pages have version 1 and are compressed with zstd. The pages of all columns end at the same rows. A page
//     ends after Options.PageRows rows or 4 MiB of text, and a row group after Options.RowGroupRows rows or 64 MiB of
//     compressed pages.
//   - The encoding is chosen by column and row group: a dictionary if it is smaller, and otherwise
//     DELTA_LENGTH_BYTE_ARRAY for texts, DELTA_BINARY_PACKED for whole numbers, dates and timestamps, and PLAIN for
//     doubles. Booleans are always PLAIN. DELTA_BYTE_ARRAY is not used: for the parents' ids in child tables, it would
//     reduce the CPU time of an export by a tenth, but joins on these ids would take 15 % longer in DuckDB and 40 %
//     longer in polars. A dictionary of these ids would make files 10 % larger.
//   - There are statistics per column chunk and per page (the page index), with texts cut to 64 bytes. The sort order
//     is recorded as sorting columns.
//   - Each column that identifies a person has a Bloom filter per row group, for lookups: rows are sorted by school, so
//     bounds would not exclude anything. A filter is as sensitive as the column's values, because it holds hashes of
//     all of them. Its size is the smallest power of two with room for the row group's distinct values.
//   - With Options.LeanRows, which histories use, a small file has no page index, Bloom filters or bounds, and columns
//     that compression would not make smaller are not compressed.
//   - created_by is CreatedBy, in the form that readers parse: application, "version", version. There is no key-value
//     metadata, time, or library version.
//
// All of this depends only on the options and the sequence of rows, not on how the rows were divided among calls of
// Append or on what a Writer wrote before. The bytes do depend on the version of the zstd library. If the test that
// pins the bytes fails, the new bytes need a new CreatedBy, unless no release has written files with the current
// CreatedBy.
//
// A Writer collects rows in one raw page. A full page is encoded and compressed column by column, and the compressed
// pages are kept until their row group is complete: a Writer holds one raw page, or two with Options.Background, and
// one compressed row group. A Reader holds one page and the dictionary of each column; with FetchAhead it also holds
// the next page, decompressed.
package parquetfile
