// Package transform decodes the service's answers into rows. In one pass over a page's bytes, it writes each value
// straight to its column, as declared by the tables in schemas. It owns every rule about columns and values: which
// values fit a type, _extra, the shapes that a list may have, duplicate members and records, drift, the columns that a
// privacy profile withholds or changes, and the order of rows.
//
// It is pure: it uses no network, disk, clock or goroutine, and imports only schemas, rows and privacy. The result of a
// Decoder depends only on its plan, its parameters, its limits, its Only, and the pages it reads.
//
// A Plan is compiled once per dataset and shared. A Decoder collects the records of one call chain: all pages of
// one list, or a single object.
//
//	Compile                     compile.go     the plan of a dataset's tables
//	                            names.go       finds a member by its name
//	                            protect.go     columns that a privacy profile withholds
//	ReadPage ... ReadPage       window.go      the part of a body that is held
//	                            body.go        finds the records in a body
//	                            object.go      members to columns, the fast path
//	                            value.go       values, on the fast path and off it; scan.go, text.go and parse.go read
//	                                           the bytes of JSON, of texts and of the other types
//	                            intern.go      holds repeated texts only once
//	                            cohort.go      drops the rows of students who are not listed
//	                            suppress.go    drops the rows of students who were erased
//	                            leftovers.go   members for _extra
//	                            duplicates.go  records that have a member twice
//	                            limits.go      bounds on what a decoder accepts
//	                            drift.go       deviations from the declarations
//	Finish                      table.go       completes the rows, makes pseudonyms
//	                            order.go       sorts, drops duplicate records
//	WriteRun ... MergeRuns      runs.go        the same for a list that does not fit in memory
//	                            block.go       a part of such a list
//
// The fast path reads values in their usual form only (plain ASCII text, short numbers). For anything else, the slow
// path takes over at the same position. A record with a duplicate member is discarded and read again, once it is known
// which members count. Both rules keep the fast path free of special cases. A fuzz test compares the decoder with a
// slow reference built on encoding/json.
//
// Errors contain the dataset and the shape of the answer, but never a value.
package transform

//go:generate go test -run TestGolden . -update
