// Package architecture has tests of the import rules, whose table lists exactly what each package imports, with the
// reason, of the modules that are linked into the command, and of docs/FORMAT.md, which is generated from the
// declarations of documents.
//
// The go command does not see that the tests read other packages and may use a cached result: run them with `make test`
// or -count=1.
package architecture

//go:generate go test -run TestFormat . -update
