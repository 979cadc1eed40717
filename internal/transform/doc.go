// Package transform makes rows of what the service answers: one pass over a
// page's bytes, each value straight to its column, as the tables in schemas
// declare. It owns every rule about columns and values: what fits a type,
// _extra, the shapes in which a list may come, doubled members, duplicates,
// drift and the order of rows.
//
// It is pure: no network, disk, clock or goroutine, and it imports only schemas
// and rows. What a chain returns is a function of the pages it was given.
//
// A Plan is compiled once per dataset and shared. A Chain collects one call
// chain, all pages of one list or one single read:
//
//	Page(bytes) ... Page(bytes)      container.go   where the records are
//	                                 object.go      members to columns, the fast path
//	                                 names.go       which member a name is
//	                                 value.go       values off the fast path, leftovers
//	                                 doubled.go     records with a member twice
//	                                 limits.go      how much a chain takes
//	                                 drift.go       what was not as declared
//	Finish()                         order.go       sorted, duplicates dropped
//
// The fast path takes values in their usual form only (plain ASCII text, short
// numbers) and hands everything else, at the same position, to the slow one. A
// record in which a member is found twice is undone and read again, knowing
// which members count. Both keep the fast path free of special cases; a fuzz
// test holds the whole against a slow reading on encoding/json.
//
// Errors name the dataset and the shape met, never a value.
package transform
