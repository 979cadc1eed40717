// Package simulator is the service of the specification, simulated: a seeded [World] of districts, schools, students and
// results, and a [Server] that serves it over HTTP as strictly as the specification allows, with faults on demand.
//
// It is written from the specification and from what public clients have observed, on the standard library alone. It
// imports nothing of this project, so that it cannot inherit the client's misunderstandings.
//
// Four ideas carry it:
//
//   - A record is data. The world makes a record as a list of named values; the renderer writes it as JSON, in an order of
//     members and a precision of timestamps that vary from record to record, and the oracle turns the same values into the
//     rows that a correct export must hold. Neither reads the other's output.
//   - Everything is a pure function of the seed and a position. No record depends on another having been made before, so any
//     page can be rendered at any time, by any number of requests at once, and has the same bytes. Nothing is kept in memory
//     but the list of schools.
//   - An odd world is a plain one seen through a layer (quirk.go) that spoils records before either reads them: each spoilt value
//     carries its JSON text and, beside it, what the contract makes of it.
//   - An operation is an entry in a table (operations.go): its path, its parameters, its container, and the source of its
//     records. The server, the strictness checks and the oracle's fan-out all follow from the entry.
//
// The request log and the faults (see [Fault]) are there for tests: a fault is aimed at an operation, a school, the n-th try
// of a request, or a share of all requests that is decided by a hash and not by the order of arrival. Hostile answers are faults
// too; a [Stranger] is the host to which they lead astray.
package simulator
