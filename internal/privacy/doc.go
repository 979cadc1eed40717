// Package privacy makes pseudonyms: it reads the key of an export, and turns identifiers into values that are equal if
// identifier and key are equal, and that cannot be traced back without the key.
//
// Package schemas declares which columns get a pseudonym, and package transform applies it. This package imports no
// other package of this module.
package privacy
