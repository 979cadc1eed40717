// Package architecture tests three things: the import rules, a table of the exact imports of each package, with
// reasons; the modules that are linked into the command; and docs/FORMAT.md, which is generated from the declarations
// of documents.
//
// The go command does not notice that the tests read other packages, and may use a cached result: run them with `make
// test` or -count=1.
package architecture

//go:generate go test -run TestFormat . -update
