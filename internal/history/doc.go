// Package history compares published snapshots and folds them into a history. It reads snapshots through the catalog,
// and publishes the history as one change of it.
//
// # Comparing
//
// Snapshots are sorted, so two of them are compared in one pass, unit by unit (a [Unit] is a school, a district or a
// whole lookup table). A cursor reads the rows of one side; a merger pairs the rows of both and passes each outcome to
// a visitor. Rows of child tables, which have an ordinal, and rows without a complete key have no identity: they are
// compared as a multiset. Only schools whose dataset is complete on both sides are compared, because a school that
// could not be read says nothing about its rows.
//
// A run is compared with its baseline task by task, while it is staged. Why a test result is gone depends on the
// results of all schools, so each task leaves its turnover in a file of the run, and [Explain] reads these when
// everything is staged. The same code explains the results for [Diff] and for a fold.
//
// # Folding
//
// A fold merges the open versions of every table with one snapshot. Several snapshots are several folds in order, each
// published on its own, and a rebuild is all folds from nothing in a workspace, published at its end. So the bytes of a
// history depend only on the snapshots, whatever the number of commands.
//
// The open versions of a table are cut into files at some schools, chosen by the hash of their bid. A file whose rows
// all stay is kept; the others are written again. Rows that end go to one file for the day. Names hold the id of the
// fold that wrote them, which is a hash of what was folded.
//
// Why a test result is gone depends on other schools. Removed results are therefore looked for in a few columns first,
// some hundred thousand at a time, and explained by a scan of the snapshot.
//
// If the snapshot of the last date is replaced, the files before that fold are made again from the current ones (undo):
// the manifest says which they were.
package history
