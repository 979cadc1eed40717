// Package activity records what a run does over time, in a bounded number of steps: requests, their latency, retries by
// cause, concurrency, and the slowest schools.
//
// A [Recorder] collects the activity of one process. A [Log] is the stored form: each checkpoint has the activity since
// the previous checkpoint, and the manifest has the activity of the whole run. Logs of several processes, or of the
// parts of a resumed run, can be added up. A log does not contain student data; schools are identified by bid.
//
// The package does not depend on the service or on files: callers pass in the figures of each request.
package activity
