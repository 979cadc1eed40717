// Package schemas declares every dataset of the service and every table that
// growth-export writes, once. The decode plan, the Parquet schema, the sort
// order, the data dictionary and the DDL under generated/ all follow from
// these declarations; a test holds them against tables.csv. One file per family
// of operations, one function per dataset; a further operation is a further
// declaration. Package render writes generated/.
//
// The documentation of a column ends with where it comes from: a section of the
// specification; "Observed", seen by public clients of the service where the
// specification is silent; "Presumed", expected from the service's other
// records, neither shown nor seen.
//
// The package owns names, types, order, nullability, sources and meaning. It
// neither reads the service nor writes files, and imports nothing of ours.
package schemas
