// Package schemas declares every dataset of the service and every table that growth-export writes, once. The decode
// plan, the Parquet schema, the sort order, and the data dictionary, join map and DDL under generated/ follow from
// these declarations; a test compares them with tables.csv. There is one file per family of operations and one function
// per dataset. Package render writes generated/.
//
// The documentation of a column ends with the origin of this knowledge: a section of the specification; "Observed",
// seen by public clients of the service where the specification is silent; "Presumed", expected from the service's
// other records, neither shown nor seen.
//
// The package owns names, types, order, nullability, sources and meaning. It neither reads the service nor writes
// files, and imports nothing of ours.
package schemas
