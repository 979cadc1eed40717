// Package report writes HTML pages: the report of a run, the page of all runs, the notice of a purge and the record of
// a student. Each page is one file without scripts, fonts or network access, so that it can be opened from a disk, a
// bucket or an email, in light and dark mode, on wide and narrow screens and on paper.
//
// [Write] turns a [Page] into bytes that depend on nothing else. A page is made from the run's manifest and ledger or,
// before the run is published, from its checkpoints. The report does not contain student data. html/template escapes
// all texts.
//
// The sections of the report are in the order in which an operator needs them: the outcome, the next steps, the
// failures, the changes since the last run, the comparison with the last nights, and the requests. Empty sections are
// left out.
//
// [WriteIndex] writes a page that lists all runs, with links to their reports. This page does not contain the names of
// schools. It stores the data that comes from manifests, so that the manifests need not be read again (see
// [ReadIndex]).
package report
