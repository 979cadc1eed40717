// Package fetch reads one dataset of one school into a Result: either all of its rows, or none and the reason.
//
//	Fetcher.LookUp   4.1, 4.2 and 4.3, once a run
//	Fetcher.School   the calls of a school -> pages -> transform.Decoder -> Result
//	                 (one list per perspective; one call per student, class, educator or association if another list
//	                 feeds the dataset: fanout.go)
//
// Scanning a page and delivering rows need a processor slot. The school that began first gets the next slot
// (processors.go). Otherwise, all schools being fetched would be half finished, and hold their rows in memory. A
// simpler hand-off between goroutines could replace this queue if measurements show that it does not need more memory.
//
// If the rows of a school exceed a limit, they are written to a scratch file in sorted runs. The limit is lower while
// the schools being fetched take too much memory together. The runs are merged when the school is complete
// (collector.go). Rows, counts and checks are the same as for a school that fits in memory. All bounds are in
// memory.go.
//
// Finished calls of a fan-out are kept in files of the run until their task is staged, so that a run that is resumed
// after being killed need not repeat the calls (calllog.go).
//
// The package checks the service's own rules, as far as they concern the rows of one school (rules.go). It fills in the
// ledger rows and counts defined in package snapshot, but knows nothing about runs, stores or plans.
package fetch
