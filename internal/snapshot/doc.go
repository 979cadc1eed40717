// Package snapshot finds the runs and snapshots of a destination. All changes to runs and snapshots go through it. It
// lays out files and documents in a sink.Store. It handles tables and rows, but is independent of the service that the
// data comes from.
//
// # A run's documents
//
//	_runs/<run>/plan.json       what the run will do, written first (CreatePlan)
//	            journal/*.json  one dataset of one bucket is staged (WriteCheckpoint)
//	            held.json       why the run is not published (Hold)
//	            alive.json      a process is working on the run (KeepAlive)
//	            change.json     a change to the data that readers see has begun (Change)
//	            ledger.parquet  the outcome for every school and dataset
//	            manifest.json   the run is published, and these are its files
//	            report.html     what the run did, for people; nothing reads it
//	_runs/index.html            all runs, for people, with links to their reports
//
// For each date, a pointer (in _snapshots/ or _as_of/) refers to the run that is its snapshot. _latest.json refers to
// the newest full run of all schools, and _destination.json records the service that the destination was moved to.
//
// Checkpoints are the state from which a run is resumed. Collect adds them up.
//
// # A change rolls forward
//
// Publishing, purging or pruning a run, or changing the history, is one [Change], recorded before its first step. Its
// steps are: commit the staged files, write the manifest, move the pointer of the date or of the history in one
// conditional write, then remove objects that readers no longer find, and finally remove the change. Every step can
// safely be repeated, and the change holds everything that the steps need, so any process can finish a change that a
// killed process has begun. Commands that change a destination therefore call [Recover] first. A change that cannot be
// made, for example because the store has lost staged files, is undone.
//
// Two publishers cannot both win a date. On disk, a lock makes the second publisher wait. On a store without locks, its
// conditional write fails, and it reads the pointer again. Of two runs that may replace each other, the one planned
// later wins, in whatever order they are published.
//
// # Where to begin
//
// layout.go and plan.go define paths and plans. checkpoint.go, staging.go and collect.go handle staged files,
// publish.go, change.go, apply.go and claim.go make them visible, and recover.go finishes the change of a killed
// command. index.go, pointer.go, runs.go and status.go find runs. history.go has the documents of the history, and
// history_change.go applies changes to it.
package snapshot
