// Package storetest is the test suite that every sink.Store must pass. Among other things, it tests that staged files
// are invisible, that committed files are complete, that aborted files leave nothing behind, and that only one of two
// conditional writers succeeds. The tests of a store call Run with a function that creates destinations. NewDir and
// Tree are for the tests of packages that use a store.
package storetest
