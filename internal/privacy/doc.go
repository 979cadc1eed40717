// Package privacy makes pseudonyms: it reads the key of an export and turns identifiers into values that are equal
// wherever the identifier and the key are equal, and that cannot be traced back without the key.
//
// Which columns get a pseudonym is declared in schemas; transform applies it. The package imports nothing of ours.
package privacy
