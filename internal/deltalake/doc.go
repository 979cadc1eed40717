// Package deltalake keeps Delta logs beside the data files, so that engines read each table as a Delta Lake table:
// atomically, with its earlier versions, and skipping files by their statistics. No byte of a data file changes.
//
// There is one operation, [Reconcile]. It makes the live files of each log equal to the files that the pointers'
// manifests name: one commit with everything that was added and removed, or none if nothing differs. So a new snapshot,
// a replaced, pruned or purged one, and the first registration of a hundred old ones are the same code, and a command
// that was killed before its commit is repaired by the next one.
//
// The order of reads makes this safe without locks: the log first, then the pointers, then the commit, which is written
// only if its version does not exist yet. A process that wrote in between has taken that version, so this one reads
// everything again and starts over.
//
// # The log
//
// <table>/_delta_log/<version>.json, of the protocol's reader version 1 and writer version 2, which every engine reads.
// Paths are relative to the table. A file's statistics are the number of rows, the nulls of every column, and the
// minimum and maximum of columns that reveal nothing about a person (class none): no student's value is ever in a log.
// Table properties ask other writers to do the same.
//
// A commit without this program's transaction identifier was written by another one. Reconcile undoes what it did to
// the live files, and [Verify] names it. If another program has removed commits, the log has to be written again.
//
// # Checkpoints
//
// After every hundredth commit, Reconcile writes <version>.checkpoint.parquet, the sum of the commits up to that version,
// and names it in _last_checkpoint, so that engines need not read the commits before it. Commits are never removed, and
// only they count: this package makes checkpoints from them and otherwise ignores checkpoints, including its own. So a
// checkpoint that is missing after a kill is written by the next command. Its bytes depend on the commits alone, and two
// processes that write it at once write the same. [Verify] compares checkpoints with the commits.
//
// A checkpoint leaves out the statistics of files that other programs have added, which may be of any column.
package deltalake
