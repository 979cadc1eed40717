// Package destination does the work that all commands have in common, before and after their own work. [Open] finishes
// the changes that killed commands have left unfinished. Then the command publishes, prunes or purges runs through the
// session's catalog, which records the runs that change. At the end, the session writes everything that depends on
// these runs: reports, the page of all runs, the history and the Delta logs.
//
// The package decides when these are written. How they are written is up to other packages: pipeline draws the pages,
// history folds snapshots, and deltalake reconciles logs.
package destination
