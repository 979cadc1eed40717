// Package oracle computes what a correct export of a simulated world holds: every row, the drift, the ledger and the
// checks. It makes the calls that an export makes and applies the contract to the world's records; no JSON, no HTTP and
// no code of the exporter lie between. Only tests link it.
package oracle
