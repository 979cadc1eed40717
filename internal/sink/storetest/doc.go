// Package storetest is the suite that every sink.Store must pass: staged files are invisible, committed ones are
// complete, aborted ones leave nothing behind, and one of two conditional writers wins. The tests of a store call Run
// with a function that creates destinations. NewDir and Tree help with tests of packages that use a store.
package storetest
