// Package sink owns a destination: which file lies where, how files become
// visible together, and how one is told later that nothing is missing. It
// knows tables (package schemas) and rows, and nothing of the service.
//
// # Two verbs
//
// A file of a table is staged, which makes it durable and leaves it invisible,
// and committed, which makes it visible whole. Nothing of a run is committed
// before all of it is staged. A [Store] is a place with these verbs; [Dir] is
// the one on a file system, package sink/s3 the one on S3, and the suite in
// storetest says what either must do.
//
// # A run's documents
//
//	plan.json       what the run will do, written first (CreatePlan)
//	journal/*.json  one unit, a dataset of a bucket, is staged (WriteJournal)
//	held.json       a check said do not publish (Hold)
//	intent.json     publishing has begun and will be finished (Publish)
//	ledger.parquet  what became of every school and dataset
//	manifest.json   the run is published
//	report.html     what the run did, for people; nothing reads it
//
// A destination belongs to the service of its runs. _destination.json names the
// service that it was moved to (CheckDestination); it does not exist before a
// move.
//
// Journals are the state from which a run is resumed; Gather adds them up.
//
// # Publishing rolls forward
//
// Once intent.json stands, publishing is a list of steps of which each may be
// done twice: commit every file and the ledger, write the manifest, set the
// pointer of the date in one conditional write, set _latest.json, mark replaced
// runs, remove the files of the date that the manifest does not name, remove
// journals, staging and at last the intent. Whoever finds an intent of a killed
// process does the steps again (FinishPublishing). The intent holds all that is
// needed for it.
//
// Two publishers cannot both win a pointer. On disk a lock keeps the second
// waiting; on a store without locks the conditional write refuses it, it looks
// again, and of two runs that may replace each other the one planned later is
// left standing, whatever the order in which they came.
//
// # What goes again
//
// Prune removes whole published runs, the pointer first and the manifest last;
// prune.json stands while that is under way. Purge removes the rows of schools
// or districts from every published run: of each it stages new files in the
// place of those that hold such rows, writes purge.json, and rolls forward from
// there as publishing does: commit, manifest, pointer, then the old files. Both
// are finished by the same command when they are killed. What a purge has done
// stays in the manifest, which no longer counts what the ledger does, and in
// the proof, _purges/<id>.json.
//
// Where the proposal of the design was changed: staged files on disk carry
// random names, as uploads on S3 carry ids, so that a journal never vouches for
// a file that a later attempt at the same bucket has written.
package sink
