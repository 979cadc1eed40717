// Package pipeline takes a snapshot from end to end: package fetch returns the rows of one school, and package snapshot
// turns rows into files that become visible together.
//
//	plan      lookups (4.1, 4.2, 4.3) -> schools, perspectives, buckets -> plan.json
//	fetch     for every bucket and dataset (a task), school by school: package fetch
//	          results in the order of the schools (reorder.go) -> one file per table
//	          files staged, checkpoint written: the task is done
//	check     checkpoints collected; failed schools or shrunken tables hold the run back (publisher.go, limits.go)
//	publish   every file, ledger, manifest, pointer (snapshot.Publish)
//	report    the page of the run, whatever its outcome (report.go)
//
// One errgroup fetches the schools of all tasks in order, enough of them at a time to keep the client's request slots
// full, and writes each task in a goroutine of its own. A failed school is a row in the ledger; only errors that
// concern the whole run (no token, the service down, a full disk, an interrupt) end the run. Schools that finish out of
// order wait in memory, within a budget that all tasks share. A school beyond the budget is spilled to a scratch file
// while its task waits for another school, so that requests never wait for the order of rows. If its task is being
// written instead, the school has to wait, so that a slow disk slows down fetching.
//
// A run is a full run, an as-of run for one date, or a delta run of the changes since a time (settings.go). These
// differ in the datasets that take part, the parameters that the plan pins, and the paths of the files. Only full runs
// are compared with the previous snapshot.
//
// Staged tasks with a checkpoint are kept, and so are the finished calls of fan-out tasks that are not staged yet. The
// same command resumes the run. If the service gives the same answers, the files have the same bytes as if the run had
// not been interrupted.
//
// A Progress counts requests, schools and files. A Tracer is called at the start and end of every span.
//
// The package owns the order of events and the decision to publish. It does not know how a request is retried, how a
// value is decoded, or how a file becomes visible.
package pipeline
