// Command bench compares growth-export with other ways to export the same test results and with an older build of
// itself, and its files with that build's files when they are queried. It makes up the service's pages once, serves
// them from a process of its own, and starts each contestant as a process, in turns, so that what a busy machine does
// to one it does to all. See docs/BENCHMARKS.md and the bench targets of the Makefile.
package main
