// Package fetch reads one dataset of one school into a Result: all of its rows, or none and the reason.
//
//	Fetcher.LookUp   4.1, 4.2 and 4.3, once a run
//	Fetcher.School   the calls of a school -> pages -> transform.Decoder -> Result
//	                 (one list per perspective; one call per student, class, educator or association if another list
//	                 feeds the dataset: fanout.go)
//
// Scanning a page and delivering rows need a processor slot. The school that began first gets it first (processors.go):
// otherwise all schools being fetched would hold half their rows. A plainer hand-off between goroutines may replace
// this if it is measured to need no more memory.
//
// The rows of a school that outgrow a limit, which is lower while all schools being fetched take too much memory, are
// written to a scratch file in sorted runs, which are merged when the school is complete (collector.go). Rows, counts
// and checks are the same as for a school that fits in memory. All bounds are in memory.go.
//
// The calls of a fan-out that were made are kept in files of the run until their task is staged, so that a run that is
// killed does not make them again (calllog.go).
//
// The package makes the checks of the service's own rules that need only the rows of one school (rules.go). It knows
// the catalogue's ledger rows and counts, which it fills in, but no run, store or plan.
package fetch
