// Package contract embeds tables.csv, the columns that users rely on. The declarations of package schemas are tested
// against it, and the simulator reads it instead of them, so that it cannot repeat a mistake of theirs.
package contract

import _ "embed"

//go:embed tables.csv
var tables string

// TablesCSV returns tables.csv: one line per column, in order, below a line of headings.
func TablesCSV() string { return tables }
