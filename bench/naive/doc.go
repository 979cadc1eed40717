// Package naive exports test results as a simple first version would: it decodes with encoding/json into tagged
// structs, writes each table with a GenericWriter of parquet-go, and reads several schools at once. It does not sort,
// drop duplicates, keep unknown members, retry, write a manifest, publish atomically or read its files back.
package naive
