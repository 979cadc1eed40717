// Package architecture tests the import rules, which are a table of the exact imports of each package with reasons. It
// also tests which modules are linked into the command, and that docs/FORMAT.md equals what is generated from the
// declarations of documents.
//
// The go command does not notice that the tests read other packages, so it may use a cached result. Run the tests with
// `make test` or -count=1.
package architecture

//go:generate go test -run TestFormat . -update
