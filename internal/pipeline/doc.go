// Package pipeline takes a snapshot from end to end: fetch returns the rows of one school, snapshot turns rows into
// files that become visible together.
//
//	plan      lookups (4.1, 4.2, 4.3) -> schools, perspectives, buckets -> plan.json
//	fetch     for every bucket and dataset (a task), school by school: package fetch
//	          results in the order of the schools (reorder.go) -> one file per table
//	          files staged, checkpoint written: the task is done
//	check     checkpoints collected; failed schools or shrunken tables hold the run back (publisher.go, limits.go)
//	publish   every file, ledger, manifest, pointer (snapshot.Publish)
//	report    the page of the run, whatever its outcome (report.go)
//
// One errgroup fetches the schools of all tasks in order, as many at a time as keep the client's request slots full,
// and writes each task in a goroutine of its own. A failed school is a line in the ledger; only what concerns the whole
// run (no token, the service gone, a full disk, an interrupt) ends it. Schools that finish out of order wait in memory
// within one budget. Beyond it a school is spilled to a scratch file while its task waits for another school, so that
// requests never wait for the order of rows; while its task is being written, it is held, so that a slow disk slows
// down fetching.
//
// A run is full, as of a past date, or of the changes since a time (settings.go). These differ only in the datasets
// that take part, the parameters that the plan pins, and the paths of the files.
//
// Staged tasks with a checkpoint are kept, and of fan-outs also the calls of tasks that are not staged: the same command
// resumes the run, and its files have the same bytes as without the interruption.
//
// Progress counts; a Tracer is called at the start and end of every span.
//
// The package owns the order of events and the decision to publish. It does not know how a request is retried, how a
// value is read, or how a file becomes visible.
package pipeline
