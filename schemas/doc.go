// Package schemas declares every dataset of the service and every table that growth-export writes, once. The decode
// plan, the Parquet schema, the sort order, and the data dictionary, join map and DDL under generated/ follow from
// these declarations. A test compares the declarations with tables.csv. There is one file per family of operations and
// one function per dataset. Package render writes generated/.
//
// The documentation of a column of the service's data names its source: a section of the specification; "Observed" if
// the specification is silent but public clients have received the column's values; "Presumed" if it is only expected,
// because other records of the service have it.
//
// The package owns names, types, order, nullability, sources and meaning. It neither reads the service nor writes
// files, and imports no other package of this module.
//
//go:generate go test -run TestDeclarationsEqualTablesCSV . -update
package schemas
