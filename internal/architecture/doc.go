// Package architecture has a test of the import rules. Its table lists exactly what each package imports, with the
// reason. Another test checks which modules are linked into the command.
//
// The go command does not see that the test reads other packages and may use a cached result: run it with `make test`
// or -count=1.
package architecture
