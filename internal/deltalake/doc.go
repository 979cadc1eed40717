// Package deltalake keeps Delta logs beside the data files, so that engines can read each table as a Delta Lake table.
// They then read it atomically, can query its earlier versions, and skip files by their statistics. The data files
// themselves do not change.
//
// There is one operation, [Reconcile]. It makes the live files of each log equal to the files in the manifests that the
// pointers refer to. It adds one commit with all additions and removals, or none if nothing differs. The same code
// therefore handles new, replaced, pruned and purged snapshots, and the first registration of a hundred old ones. If a
// command is killed before its commit, the next command makes the commit.
//
// The order of steps makes this safe without locks: Reconcile reads the log, then the pointers, and then writes the
// commit on condition that its version does not exist yet. If another process has written in between, that version
// already exists, so this process reads everything again and starts over.
//
// # The log
//
// The log consists of the files <table>/_delta_log/<version>.json. It uses reader version 1 and writer version 2 of the
// protocol, which every engine supports. Paths are relative to the table. A file's statistics are the number of rows,
// the number of nulls in each declared column, and the minimum and maximum of the columns with bids of schools and
// districts (schemas.BoundedColumns). A commit of this program therefore never contains a student's value. Table
// properties ask other writers to do the same.
//
// A commit without this program's transaction identifier was written by another program. Reconcile undoes its changes
// to the live files, and [Verify] lists the commit. If another program has removed commits, the log has to be written
// again.
//
// # Checkpoints
//
// After every hundredth commit, Reconcile writes <version>.checkpoint.parquet, the sum of the commits up to that
// version, and records it in _last_checkpoint, so that engines do not have to read the earlier commits. This program
// never removes commits. It makes checkpoints from commits alone, and otherwise ignores checkpoints, including its own.
// If a checkpoint is missing because a command was killed, the next command writes it. The bytes of a checkpoint depend
// only on the commits, so two processes that write a checkpoint at the same time write the same bytes. [Verify]
// compares checkpoints with the commits.
//
// A checkpoint leaves out the statistics of files that other programs have added, because such statistics may cover any
// column.
package deltalake
