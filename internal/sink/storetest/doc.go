// Package storetest is the suite that every sink.Store must pass: staged files are invisible, committed ones are whole,
// aborted ones leave nothing behind, and one of two conditional writers wins. The tests of a store call Run with a way
// to create destinations. NewDir and Tree help tests of what is built on a store.
package storetest
