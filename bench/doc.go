// Command bench compares growth-export with other ways to export the same test results, and with an older build of
// itself. It also compares how fast the files of both builds can be queried, and measures histories, privacy profiles,
// a large service and an S3 store. A separate process serves generated pages or simulates the service. The contestants
// run in turns, each as a separate process, so that a busy machine affects all of them in the same way. See
// docs/BENCHMARKS.md and the bench targets of the Makefile.
package main
