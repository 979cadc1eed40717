// Package e2e contains end-to-end tests. They build the command, take snapshots of the simulated service over HTTP, and
// read the files with DuckDB. Every table is compared row by row with the simulator's oracle, and checked against the
// generated DDL, the ledger and the manifest.
//
// It is a separate module, so that the main module does not depend on DuckDB, which is large and needs cgo.
package e2e
