// Package pipeline takes a snapshot from end to end. It is the only place
// where the three stages meet: extract brings pages as bytes, transform makes
// them rows, sink makes rows files that become visible together.
//
//	plan      lookups (4.1, 4.2, 4.3) -> schools, perspectives, buckets -> plan.json
//	fetch     for every bucket and dataset, school by school:
//	            call chains -> pages -> transform.Decoder -> result
//	            (a chain per perspective; per student, class, educator or
//	            association where another list feeds the dataset: fanout.go)
//	          results in the order of the schools -> one file per table
//	          files staged, journal written: the task is done
//	judge     journals gathered; failed schools, shrunken tables hold it back
//	publish   every file, ledger, manifest, pointer (snapshot.Publish)
//	tell      the page of the run, whatever became of it (report.go)
//
// One errgroup works through the (bucket, dataset, school) steps in order.
// As many steps are under way as keep the client's request slots full; a
// school that failed is a line in the ledger, and only what concerns the whole
// run (no token, the service gone, a full disk, an interrupt) ends it. A school
// whose turn in the file has not come waits in memory within one budget. Beyond
// it the school waits in a scratch file if its turn waits for another school,
// so that requests never wait for an order that only files need; if it is
// writing that is slow, its step is held.
//
// A run is full, as of a past date, or of the changes since a time (kind.go);
// these differ in the datasets that take part, the parameters that the plan
// pins, and where files land, and in nothing else.
//
// Staged and journalled tasks are kept: the same command resumes the run, and
// its files have the same bytes as without the interruption.
//
// Progress: a Meter counts; a Watcher is called at the start and end of every
// step.
//
// The package owns the order of events and the verdict. It does not know how
// a request is retried, how a value is read, or how a file becomes visible.
package pipeline
