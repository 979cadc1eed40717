// Package oracle computes what a correct export of a simulated world contains: every row, the drift, the ledger and the
// checks. It makes the calls that an export makes, and applies the rules for rows directly to the world's records,
// without JSON, HTTP or code of the exporter. Only tests import it.
package oracle
