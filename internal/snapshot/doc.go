// Package snapshot knows which runs and snapshots a destination holds, and is the only way to change them. It lays out
// files and documents in a sink.Store. It knows tables and rows, but not the service that the data comes from.
//
// # A run's documents
//
//	_runs/<run>/plan.json       what the run will do, written first (CreatePlan)
//	            journal/*.json  one dataset of one bucket is staged (WriteCheckpoint)
//	            held.json       why the run is not published (Hold)
//	            alive.json      a process is working on the run (KeepAlive)
//	            change.json     a change of what readers see has begun (Change)
//	            ledger.parquet  the outcome for every school and dataset
//	            manifest.json   the run is published, and these are its files
//	            report.html     what the run did, for people; nothing reads it
//	_runs/index.html            all runs, for people, with links to their reports
//
// A pointer names the run of each date (_snapshots/, _as_of/), _latest.json the newest full one of all schools, and
// _destination.json the service that a destination was moved to.
//
// Checkpoints are the state from which a run is resumed; Collect adds them up.
//
// # A change rolls forward
//
// Publishing, purging and pruning a run, and every change of the history, are each one [Change], written before its
// first step. Its steps are: commit the staged files, write the manifest, move the pointer of the date or of the
// history in one conditional write, then remove objects that readers no longer find, and the change last. Each step may
// be done twice, and the change holds all that the steps need, so any process can finish the change of a killed one:
// every command that changes a destination calls [Recover] first. A change that cannot be made, because the store has
// lost staged files, is undone.
//
// Two publishers cannot both win a date. On disk a lock keeps the second waiting. On a store without locks the
// conditional write fails, the publisher reads the pointer again, and of two runs that may replace each other the one
// planned later wins, whatever the order in which they publish.
//
// # Where to begin
//
// layout.go and plan.go define paths and plans. checkpoint.go, staging.go and collect.go handle staged files,
// publish.go, change.go, apply.go and claim.go make them visible, and recover.go finishes the change of a killed
// command. index.go, pointer.go, runs.go and status.go find runs. history.go has the history's documents, and
// history_change.go applies changes of the history.
package snapshot
