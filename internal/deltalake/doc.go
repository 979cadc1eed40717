// Package deltalake keeps Delta logs beside the data files, so that engines read each table as a Delta Lake table:
// atomically, with its earlier versions, and skipping files by their statistics. No byte of a data file changes.
//
// There is one operation, [Reconcile]. It makes the live files of each log equal to the files that the pointers'
// manifests name: one commit with everything that was added and removed, or none if nothing differs. So a new snapshot,
// a replaced, pruned or purged one, and the first registration of a hundred old ones are the same code, and a command
// that was killed before its commit is repaired by the next one.
//
// The order of reads makes this safe without locks: the log first, then the pointers, then the commit, which is written
// only if its version does not exist yet. A process that wrote in between has taken that version, and this one starts
// over with what the other has seen.
//
// # The log
//
// <table>/_delta_log/<version>.json, of the protocol's reader version 1 and writer version 2, which every engine reads.
// Paths are relative to the table. A file's statistics are the number of rows, the nulls of every column, and the
// minimum and maximum of columns that reveal nothing about a person (class none): no student's value is ever in a log.
// Table properties ask other writers to do the same.
//
// A commit without this program's transaction identifier was written by another one. Reconcile undoes what it did to
// the live files, and [Verify] names it. This package writes no checkpoints and ignores checkpoints of other
// writers, because the commits say everything. If another program has removed commits, the log has to be written again.
package deltalake
