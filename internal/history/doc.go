// Package history compares published snapshots and folds them into a history. It reads snapshots through the catalog,
// and publishes each new state of the history as one change of the catalog.
//
// # Comparing
//
// Snapshots are sorted, so two of them are compared in one pass, unit by unit (a [Unit] is a school, a district or a
// whole lookup table). A cursor reads the rows of one side. A merger pairs the rows of both sides and passes each
// outcome to a visitor. Rows of child tables, which have an ordinal, and rows without a complete key have no identity,
// so they are compared as a multiset. Only schools whose dataset is complete on both sides are compared, because
// nothing is known about the rows of a school that could not be read.
//
// A run is compared with its baseline task by task, while it is being staged. Why a test result is gone depends on the
// results of all schools, so each task writes its turnover to a file of the run, and [Explain] reads these files when
// everything is staged. The same code explains the results for [Diff] and for a fold.
//
// # Folding
//
// A fold merges the open versions of every table with one snapshot. Several snapshots are folded one after the other,
// and each fold is published on its own. A rebuild repeats all folds in a workspace, starting from an empty history,
// and publishes the result. Apart from purges and dropped versions, the bytes of a history therefore depend only on the
// snapshots, and not on the number of commands.
//
// The open versions of a table are split into files at some schools, chosen by the hash of their bid. Files whose rows
// do not change are kept, and the others are written again. The versions of a table that end are written to one file
// for the day. A file's name holds the id of the fold or purge that wrote it. The id of a fold is a hash of the
// snapshots folded.
//
// Why a test result is gone depends on other schools. Removed results are therefore collected first, with a few of
// their columns and about maxLost at a time, and then explained by a scan of the snapshot.
//
// If the snapshot of the last date is replaced, the history before that fold is restored first (undo). The manifest
// lists the files of that history, which are made again from the current files.
package history
