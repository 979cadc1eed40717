// Package snapshottest provides destinations for the tests of snapshot and maintenance: small plans and runs, a set of
// rows to purge, and stores that are observed or disturbed, or whose process is killed. Only tests import it.
package snapshottest
