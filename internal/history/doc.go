// Package history compares snapshots: which rows of a table are equal, new, changed or gone from one to the other.
//
// Both sides are read in the sort order of files, school by school, so the memory in use does not depend on the number
// of rows. A row is identified by its declared key. Rows of child tables, which have an ordinal, and rows without a
// complete key have no identity of their own: they are compared as a multiset, whatever their order. Only schools whose
// dataset is complete on both sides are compared, because a school that could not be read says nothing about its rows.
//
// The package reads published runs through snapshot.Catalog and changes nothing.
package history
