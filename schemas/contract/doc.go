// Package contract embeds tables.csv, the columns that users rely on, and the columns of the vendor's assessment
// results file. The declarations of package schemas are tested against them. The simulator reads tables.csv instead of
// the declarations, so that it cannot repeat a mistake in them.
package contract

import _ "embed"

//go:embed tables.csv
var tables string

//go:embed assessment-results.csv
var assessmentResults string

// TablesCSV returns tables.csv: one line per column, in order, below a line of headings.
func TablesCSV() string { return tables }

// AssessmentResultsCSV returns the columns of the vendor's file: one line per column, in order, below a line of
// headings.
func AssessmentResultsCSV() string { return assessmentResults }
