// Package report writes the report of a run and the page of all runs: each is one HTML file without scripts, fonts or
// network access, so that it can be opened from a disk, a bucket or an email, in light and dark mode, on wide and
// narrow screens and on paper.
//
// [Write] turns a [Page] into bytes that depend on nothing else. A page is made from the run's manifest and ledger or,
// before the run is published, from its checkpoints. It does not contain student data. html/template escapes every
// text.
//
// The sections answer an operator's questions in this order: what is the outcome, what to do, what failed, what changed
// since the last run, how does the run compare with the last nights, how did the requests go. Empty sections are left
// out.
//
// [WriteIndex] lists all runs, with links to their reports. It does not contain the names of schools. It stores the
// data that it takes from manifests, so that they need not be read again ([ReadIndex]).
package report
