// Package activity is what a run did over time, in a few kilobytes: how many requests there were, how long they took, which
// were retried and why, how many were in flight, and which schools took longest.
//
// A [Recorder] takes it down in one process. A [Log] is what is kept: in the journal of each unit what came since the journal
// before, in the manifest all of it. Logs of several processes, or of the parts of a run that was resumed, add up. Nothing in a
// log tells of a student; schools are named by their bids.
//
// The package knows neither the service nor the files: whoever hears of a request hands in its figures.
package activity
