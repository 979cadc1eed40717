// Package naive exports test results as a simple first version would: encoding/json into structs with tags, and
// parquet-go's GenericWriter on structs, one for each table, with several schools read at once. It does not sort, drop
// duplicates, keep unknown members, retry, write a manifest, publish atomically or read its files back.
package naive
