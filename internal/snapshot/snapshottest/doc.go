// Package snapshottest provides destinations for the tests of snapshot and maintenance: small plans and runs, a set of
// rows to purge, and stores that record calls, fail, or simulate a killed process. Only tests import it.
package snapshottest
