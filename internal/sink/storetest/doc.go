// Package storetest is the suite that every sink.Store must pass: what is
// staged is invisible, what is committed is whole, nothing is left of what was
// given up, and of two conditional writers one wins. A store's own tests call
// Run with a way to make destinations.
package storetest
