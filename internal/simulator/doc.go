// Package simulator simulates the service of the specification: a seeded [World] of districts, schools, students and
// results, and a [Server] that serves it over HTTP as strictly as the specification allows, with faults on demand. It
// is based on the specification and on the observations of public clients. Of this project, it uses only tables.csv.
//
//   - A record is data: the world makes it as a list of named values. The renderer writes the values as JSON, with
//     a varying order of members and precision of timestamps. Package oracle turns the same values into expected rows.
//   - Everything is a pure function of the world's options and a position. Any page can therefore be rendered at any
//     time, concurrently, and always has the same bytes. Only the lists of schools and districts are kept in memory.
//   - An operation is an entry in a table ([Operations]): its path, parameters, container and source of records. A
//     declared column that the world does not send gets made-up values.
//   - [Quirks] change records before the renderer and the oracle read them. They are in package odd.
//
// A [Fault] selects requests by operation, school or attempt, or a share of all requests. A hash, not the order of
// arrival, decides which requests belong to that share.
package simulator
