// Package e2e holds no code but tests of the whole: the command is built, takes
// a snapshot of the simulated service over HTTP, and DuckDB, which shares no
// line with us, reads what landed. Every table is compared with the simulator's
// oracle row by row, with the generated DDL, with the ledger and with the
// manifest.
//
// It is a module of its own because DuckDB needs cgo and is large: the main
// module depends on neither.
package e2e
