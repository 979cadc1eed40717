// Package schemas declares every dataset of the service and every table that
// growth-export writes, once. The decode plan, the Parquet schema, the sort
// order, the data dictionary and the DDL under generated/ all follow from
// these declarations; a test holds them against tables.csv.
//
// The package owns names, types, order, nullability, sources and meaning. It
// neither reads the service nor writes files, and imports nothing of ours.
package schemas
