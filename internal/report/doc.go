// Package report writes the report of a run and the page of all runs: each is one HTML file without scripts, fonts or
// network access, so that it can be opened from a disk, a bucket or a mail, in light and dark, on wide and narrow
// screens and on paper.
//
// [Write] turns a [Page] into bytes that depend on nothing else. A page comes from the run's manifest and ledger, or
// from its checkpoints before publishing. It has no student data. html/template escapes every text.
//
// The sections are in the order of an operator's questions: what is the outcome, what to do, what failed, what changed
// since the last run, how does it compare with the last nights, how did the requests go. Empty sections are left out.
//
// [WriteIndex] lists all runs, with links to their reports. It names no schools, and it remembers what manifests say,
// so that [ReadIndex] saves reading them again.
package report
