// Package maintenance looks after what is published at a destination: Verify reads it again, Purge removes the rows of
// schools, districts or students and proves it, Prune removes whole snapshots, Clean removes the leftovers of dead runs. Every
// change of a published run is a snapshot.Change; nothing here writes manifests or pointers itself.
//
// A purge rewrites the files that hold such rows, run by run, and ends by reading every file again. It is recorded in
// the manifests, whose counts then differ from the ledger's, and in its proof, _purges/<id>.json.
//
// Purge begins in purge.go. Package erase decides whose a row is, and purge_ended.go which schools' agreements have ended;
// purge_scan.go finds the rows, purge_rewrite.go writes files without them, purge_drop.go drops what unfinished runs have
// staged, package history rewrites the history, and purge_report.go is the proof.
package maintenance
