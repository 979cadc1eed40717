// Package privacy makes pseudonyms: it reads the key of an export, and turns identifiers into values that are equal if
// both the identifiers and the keys are equal, and that cannot be traced back without the key.
//
// Package schemas declares which columns get a pseudonym, and package transform applies them. This package imports no
// other package of this module.
package privacy
