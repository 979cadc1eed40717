// Package erase decides which rows are erased. A [Target] holds the schools, districts and students, a [Match] applies
// it to the rows of one table, and a [DistrictIndex] finds the schools of a district. Files are read with the columns
// that they have, because an earlier release may have written them.
//
// The package only reads. Package maintenance rewrites runs without the erased rows, and package history rewrites the
// history.
package erase
