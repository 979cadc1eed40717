package report

import (
	"html/template"
	"io"
	"time"
)

// Record holds all rows about one student, for a page that can be printed and given to a person who is entitled to see
// it.
type Record struct {
	Destination, ToolVersion string
	// At is the time at which the destination was searched.
	At    time.Time
	Bid   string
	Names []string
	// Numbers lists the student's numbers. Runs is the number of runs that were searched.
	Numbers []string
	Runs    int
	// Unsearchable counts the runs that could not be searched. The history counts as a run.
	Unsearchable int
	// Mentions counts the rows about others that mention the student, once for each place that holds such a row. The page
	// does not show these rows.
	Mentions int
	// ByNumber says how many of the rows have no bid and were found by a number alone, if there are any.
	ByNumber string
	Tables   []RecordTable
}

// RecordTable holds the rows of a table.
type RecordTable struct {
	Name, Doc string
	Rows      []RecordRow
}

// RecordRow is a row with the places that hold it.
type RecordRow struct {
	Values []RecordValue
	Places string
	// ByNumber is true if the row has no bid and was found by a number alone.
	ByNumber bool
}

// RecordValue is the value of a column.
type RecordValue struct{ Column, Text string }

// recordView is the data of the template.
type recordView struct {
	*Record

	Style template.CSS
}

// WriteRecord writes the page of a record.
func WriteRecord(w io.Writer, r *Record) error {
	return draw(w, "record.html", &recordView{Record: r, Style: template.CSS(styleText)}) //nolint:gosec // a constant
}
