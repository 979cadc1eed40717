// Package maintenance looks after published data. Verify checks it, Purge removes the rows of schools, districts or
// students and proves that they are gone, Prune removes whole snapshots, DropEnded removes old versions from the
// history, and Clean removes the leftovers of dead runs. Find looks for the rows of students and changes nothing. Every
// change to a published run is made with a snapshot.Change. This package does not write manifests or pointers itself.
//
// A purge rewrites the affected files, run by run, and ends by reading every file again. It is recorded in the
// manifests, whose counts then differ from the counts in the ledger, and in its proof, _purges/<id>.json.
//
// The entry point of a purge is purge.go. Package erase decides to whom a row belongs, and purge_ended.go decides which
// schools' agreements have ended. purge_scan.go finds the rows, purge_rewrite.go writes files without them, and
// purge_drop.go drops the staged files of unfinished runs. Package history rewrites the history. purge_report.go
// defines the proof.
package maintenance
